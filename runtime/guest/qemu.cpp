// SPDX-License-Identifier: MIT
#include "guest/qemu.hpp"

#include <cpuid.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kvm.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "guest/system_error.hpp"

namespace kpl {
namespace {

constexpr const char* qemu_program = "qemu-system-x86_64";

// Warnings must reach the console (WARN prints at level 4), chatter need not. An oops ends the machine at
// once: the run has failed, and waiting for a half-dead kernel helps nobody. An NMI, which comes when the machine
// hangs, is a panic; each panic prints (bit 6) what every CPU is doing. On a busy host the timer's interrupt comes so
// late that the kernel would think it broken (no_timer_check).
constexpr const char* kernel_command_line =
    "console=ttyS0 loglevel=5 panic=-1 oops=panic unknown_nmi_panic panic_print=0x40 8250.nr_uarts=4 random.trust_cpu=on "
    "no_timer_check";

bool kvm_works() {
    const UniqueFd kvm(open("/dev/kvm", O_RDWR | O_CLOEXEC));
    if (!kvm || ioctl(kvm.get(), KVM_GET_API_VERSION, 0) != KVM_API_VERSION) return false;
    // Some sandboxes offer a /dev/kvm without hardware behind it, which can't boot a distribution kernel.
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool vmx = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & 1u << 5);
    const bool svm = __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & 1u << 2);
    return vmx || svm;
}

std::vector<std::string> accelerator(const VmConfig& config) {
    if (config.icount) return {"-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"};
    const std::string emulation = config.parallel ? "tcg,thread=multi" : "tcg,thread=single";
    if (uses_kvm(config)) return {"-accel", "kvm", "-accel", emulation};
    return {"-accel", emulation};
}

// A terminal's keys come in where its output goes out.
bool is_both_ways(Port port, const VmConfig& config) {
    return port == Port::control || port == Port::monitor || (port == Port::out && config.keyboard);
}

std::vector<std::string> command_line(const VmConfig& config, int initramfs, const int (&ports)[port_count]) {
    const char* cpu = std::getenv("KPROBE_LUA_VM_CPU");  // as QEMU's -cpu takes it
    std::vector<std::string> argv{qemu_program,     "-M", "pc", "-cpu", cpu ? cpu : "max", "-nodefaults",
                                  "-no-user-config"};
    const auto add = [&argv](std::initializer_list<std::string> more) { argv.insert(argv.end(), more); };
    for (auto& word : accelerator(config)) argv.push_back(std::move(word));
    add({"-display", "none", "-no-reboot", "-nic", "none"});
    add({"-smp", std::to_string(config.icount ? 1 : config.cpus), "-m", fmt::format("{}M", config.memory_mib)});
    for (std::size_t i = 0; i < port_count; i++) {
        const bool is_monitor = static_cast<Port>(i) == Port::monitor;
        const bool both_ways = is_both_ways(static_cast<Port>(i), config);
        const auto backend = both_ways ? fmt::format("socket,id=port{0},fd={1}", i, ports[i])
                                       : fmt::format("file,id=port{0},path=/proc/self/fd/{1}", i, ports[i]);
        add({"-chardev", backend});
        if (is_monitor)
            add({"-mon", fmt::format("chardev=port{},mode=readline", i)});
        else
            add({"-serial", fmt::format("chardev:port{}", i)});
    }
    add({"-kernel", config.kernel_image, "-initrd", fmt::format("/proc/self/fd/{}", initramfs)});
    const char* more = std::getenv("KPROBE_LUA_VM_APPEND");  // parameters of the kernel's
    add({"-append", more ? fmt::format("{} {}", kernel_command_line, more) : kernel_command_line});
    return argv;
}

// ends[0] is ours and does not block, ends[1] is the machine's. Output comes byte by byte: a pipe merges
// these, a socket would keep a buffer for each.
bool open_port(bool both_ways, int (&ends)[2]) {
    if (both_ways)
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 &&
               fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
    return pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

// In the new process. The machine is not in our process group, so that a terminal's ^C does not reach it, and dies with
// us.
void prepare(const UniqueFd& complaints, const UniqueFd& initramfs, const int (&ports)[port_count]) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, 0);
    dup2(null, 1);
    dup2(complaints.get(), 2);
    fcntl(initramfs.get(), F_SETFD, 0);
    for (int port : ports) fcntl(port, F_SETFD, 0);
}

}  // namespace

bool uses_kvm(const VmConfig& config) { return !config.icount && kvm_works(); }

Result<Qemu> Qemu::start(const VmConfig& config, const UniqueFd& initramfs) {
    Qemu qemu;
    std::array<UniqueFd, port_count> theirs;
    int numbers[port_count];
    for (std::size_t i = 0; i < port_count; i++) {
        int ends[2];
        if (!open_port(is_both_ways(static_cast<Port>(i), config), ends))
            return system_error("a port of the VM", errno);
        qemu.ports_[i].reset(ends[0]);
        theirs[i].reset(ends[1]);
        numbers[i] = ends[1];
    }
    qemu.stderr_.reset(memfd_create("qemu-stderr", MFD_CLOEXEC));
    auto process = Process::start(command_line(config, initramfs.get(), numbers),
                                  [&] { prepare(qemu.stderr_, initramfs, numbers); });
    if (!process)
        return Error{Errc::system,
                     fmt::format("no VM without {}: apt-get install qemu-system-x86", process.error().text)};
    qemu.process_.emplace(std::move(process).value());
    return qemu;
}

void Qemu::interrupt_all() const {
    constexpr std::string_view command = "nmi\n";
    (void)!send(port(Port::monitor), command.data(), command.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::string Qemu::complaints() const {
    char bytes[1024];
    const ssize_t n = pread(stderr_.get(), bytes, sizeof(bytes), 0);
    return std::string(bytes, n > 0 ? static_cast<std::size_t>(n) : 0);
}

}  // namespace kpl
