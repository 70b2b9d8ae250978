// SPDX-License-Identifier: MIT
// The QEMU process, which ends with its owner: a machine with four serial ports and a monitor, each a descriptor on our
// side.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "base/process.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace kpl {

struct VmConfig {
    std::string kernel_image;
    int cpus = 2;
    int memory_mib = 1024;
    bool icount = false;
    bool parallel = false;  // see GuestSpec
    bool keyboard = false;  // likewise
};

enum class Port { console, out, err, control, monitor };
constexpr std::size_t port_count = 5;

class Qemu {
  public:
    // `initramfs` is an open file; QEMU reads it by its descriptor.
    static Result<Qemu> start(const VmConfig& config, const UniqueFd& initramfs);

    int port(Port p) const { return ports_[static_cast<std::size_t>(p)].get(); }
    int ended() const { return process_->fd(); }  // readable when the process has ended
    void interrupt_all() const;                   // an NMI on every CPU: the kernel tells where it is, and panics
    void end() { process_->end(); }               // kills and reaps; the ports stay readable
    std::string complaints() const;               // what QEMU wrote to its stderr

  private:
    Qemu() = default;
    std::array<UniqueFd, port_count> ports_;
    UniqueFd stderr_;
    std::optional<Process> process_;
};

// Whether the machine will run on the host's processors: it may, and /dev/kvm is there, usable and works.
bool uses_kvm(const VmConfig& config);

}  // namespace kpl
