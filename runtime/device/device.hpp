// SPDX-License-Identifier: MIT
// Device: one session of the kernel module. Closing it leaves nothing behind in the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapping.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

// A program that the module has taken.
struct LoadedProgram {
    uint32_t id = 0;
    uint32_t cost = 0;
    bool jited = false;
    uint32_t native_len = 0;
};

enum class Attached { Yes, Refused, Interrupted };

// A program's native code, as the kernel has it.
struct NativeCode {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;    // none: it is interpreted
    std::vector<uint32_t> starts;  // offset in `bytes` of each instruction
};

class Device {
  public:
    // Opens /dev/kprobe-lua and checks the ABI. The error says what is missing and what to do.
    static Result<Device> open();

    int fd() const { return fd_.get(); }
    uint32_t cpus() const { return cpus_; }
    uint64_t features() const { return features_; }  // KPL_FEATURE_*

    Result<kpl_info> info() const;
    // Percent of each CPU that handlers may take.
    Result<void> set_share(uint32_t percent) const;
    // What the kernel's log says of this session; seconds without a call of info() after which all is detached, or 0.
    Result<void> set_name(std::string_view name, uint32_t dead_man) const;
    // KPL_RIGHT_*: to change what the kernel runs.
    Result<void> set_rights(uint32_t rights) const;
    Result<kpl_ring_setup> setup_rings(uint32_t bytes_per_cpu) const;
    // A larger one, of no CPU, which stays empty until it is offered.
    Result<kpl_ring_spare> spare_ring(uint32_t bytes) const;
    Result<void> offer_ring(uint32_t nr) const;
    Result<kpl_map_create> create_map(kpl_map_create request) const;
    Result<kpl_map_clear> clear_map(uint32_t id) const;
    Result<kpl_map_info> map_info(uint32_t id) const;
    // False: no such key (GET, DELETE), full (SET) or the end (NEXT).
    Result<bool> map_op(kpl_map_op& request) const;
    Result<LoadedProgram> load(kpl_prog_load request) const;
    // Before the session's end: a map that no program uses, a program that no attached probe runs.
    Result<void> free(kpl_free_kind kind, uint32_t id) const;
    // Of a program of `insns` instructions that was loaded with KPL_PROG_F_PLACES.
    Result<NativeCode> native(const LoadedProgram& program, size_t insns) const;
    // All or none. When refused, each element's `error` is set.
    Result<Attached> attach(std::span<kpl_attach> probes) const;
    // The number of a process of our namespace in the initial one; 0: there is no such process.
    Result<uint32_t> initial_pid(uint32_t pid) const;
    Result<void> control(kpl_control_op op, std::span<const uint32_t> ids) const;
    // visit(number in `ids`, statistics) for each.
    Result<void> each_stats(std::span<const uint32_t> ids,
                            const std::function<void(size_t, const kpl_probe_stats&)>& visit) const;
    Result<std::vector<kpl_site>> sites(uint32_t program, uint32_t room) const;
    // How long so many calls of a KPL_BENCH_* function took, in ns. Nothing: a signal came.
    Result<std::optional<uint64_t>> bench(uint32_t function, uint32_t calls) const;
    Result<Mapping> map(uint64_t offset, size_t size, int protection) const;

  private:
    Device() = default;
    UniqueFd fd_;
    uint32_t cpus_ = 0;
    uint64_t features_ = 0;
};

}  // namespace kpl
