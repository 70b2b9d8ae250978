// SPDX-License-Identifier: MIT
#include "guest/guest.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "guest/image.hpp"
#include "guest/kernel_modules.hpp"
#include "guest/kernels.hpp"
#include "guest/protocol.h"
#include "guest/qemu.hpp"
#include "guest/relay.hpp"
#include "guest/system_error.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr const char* input_path = "/.kpl/stdin";

constexpr std::string_view passed_names[] = {"TERM", "COLORTERM", "NO_COLOR",  "LANG",     "TZ",
                                             "HOME", "LUA_PATH",  "LUA_CPATH", "LUA_INIT", "LD_LIBRARY_PATH"};
constexpr std::string_view passed_prefixes[] = {"KPROBE_LUA_", "LC_"};

bool is_passed(std::string_view name) {
    if (name == "KPROBE_LUA_VM" || name == "KPROBE_LUA_VM_ADD") return false;  // it is in one
    for (auto passed : passed_names)
        if (name == passed) return true;
    for (auto prefix : passed_prefixes)
        if (name.starts_with(prefix)) return true;
    return false;
}

bool same_file(int a, int b) {
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// What --vm-add names: a file or directory, a program, a kernel module with what it needs.
Result<void> add_named(const std::string& name, const GuestKernel& kernel, GuestImage& image) {
    if (!names_module(name)) {
        const std::string path = TRY(find_host_file(name));
        const bool program = fs::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
        TRY(program ? image.add_program(path) : image.add_host(path));
        image.note(path);
        return image.add_command(path);
    }
    for (std::string path : TRY(module_files(name, kernel.release))) {
        std::string bytes = TRY(module_bytes(path));
        path.resize(path.rfind(".ko") + 3);  // unpacked
        image.add_bytes(path, std::move(bytes));
        image.note(path);
        image.configure(KPL_KEY_ADDED, path);
    }
    return {};
}

Result<void> add_files(const GuestSpec& spec, const std::string& program, const GuestKernel& kernel,
                       GuestImage& image) {
    TRY(image.add_program(program));
    image.note(program);
    for (const auto& file : spec.files) {
        TRY(image.add_host(fs::absolute(file)));
        image.note(file);
    }
    TRY(image.add_command(program));
    if (!spec.add.empty()) TRY(image.add_host_shell());
    for (const auto& name : spec.add) TRY(add_named(name, kernel, image));
    for (const auto& dir : spec.lua_trees) {
        TRY(image.add_lua_tree(fs::absolute(dir)));
        image.note("Lua modules in " + dir);
    }
    for (const auto& [path, bytes] : spec.bytes) image.add_bytes(path, bytes);
    return {};
}

// NAME=VALUE of what the program gets: PATH begins with the programs that were added.
std::string guest_variable(const std::string& variable) {
    constexpr std::string_view path = "PATH=";
    return variable.starts_with(path) ? fmt::format("{}" KPL_COMMANDS ":{}", path, variable.substr(path.size()))
                                      : variable;
}

// What the program sees as terminals inside is what is a terminal here.
void configure_streams(const GuestSpec& spec, GuestImage& image) {
    if (spec.on_output) return;
    if (spec.keyboard) image.configure(KPL_KEY_KEYBOARD, "1");
    if (same_file(spec.out_fd, spec.err_fd)) image.configure(KPL_KEY_ONE_STREAM, "1");
    if (isatty(spec.out_fd)) image.configure(KPL_KEY_TTY, "1");
    if (isatty(spec.err_fd)) image.configure(KPL_KEY_TTY, "2");
    winsize window;
    if (ioctl(isatty(spec.out_fd) ? spec.out_fd : spec.err_fd, TIOCGWINSZ, &window) == 0)
        image.configure(KPL_KEY_WINDOW, fmt::format("{} {}", window.ws_row, window.ws_col));
}

Result<std::string> build_image(const GuestSpec& spec, const GuestKernel& kernel) {
    GuestImage image = TRY(GuestImage::create());
    const std::string program = TRY(find_host_file(spec.program));
    // Loaded first, so that it is unloaded last.
    for (const std::string& module : kernel.other_modules) {
        TRY(image.add_host(fs::absolute(module)));
        image.configure(KPL_KEY_MODULE, fs::absolute(module).string());
        image.note(module);
    }
    if (!kernel.module.empty()) {
        TRY(image.add_host(fs::absolute(kernel.module)));
        image.configure(KPL_KEY_MODULE, fs::absolute(kernel.module).string());
        image.note(kernel.module);
    }
    TRY(add_files(spec, program, kernel, image));
    tell(spec, "vm: holds\n" + image.holds());
    image.configure(KPL_KEY_PROGRAM, program);
    image.configure(KPL_KEY_ARG, program);
    for (const auto& arg : spec.argv) image.configure(KPL_KEY_ARG, arg);
    for (const auto& variable : spec.env) image.configure(KPL_KEY_ENV, guest_variable(variable));
    const std::string cwd = spec.cwd.empty() ? fs::current_path().string() : spec.cwd;
    TRY(image.add_dir(cwd));
    image.configure(KPL_KEY_CWD, cwd);
    if (spec.input) {
        image.add_bytes(input_path, *spec.input);
        image.configure(KPL_KEY_STDIN, input_path);
    }
    for (const auto& path : spec.fetch) {
        TRY(image.add_dir(fs::path(path).parent_path()));
        image.configure(KPL_KEY_FETCH, path);
    }
    configure_streams(spec, image);
    return image.serialize();
}

Result<UniqueFd> in_memory_file(const std::string& bytes) {
    UniqueFd fd(memfd_create("initramfs", MFD_CLOEXEC));
    if (!fd) return system_error("memfd_create", errno);
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = write(fd.get(), bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno != EINTR) return system_error("the VM's image", errno);
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    return fd;
}

// The archive and its unpacked copy are both in memory while the kernel boots.
int memory_for(const GuestSpec& spec, std::size_t image_size) {
    return std::max(spec.memory_mib, static_cast<int>(512 + 3 * (image_size >> 20)));
}

std::string describe_failure(const GuestReport& report, const Qemu& qemu) {
    if (!report.failure.empty()) return report.failure;
    if (report.finished) return {};
    const std::string complaints = qemu.complaints();
    return complaints.empty() ? "the VM ended before the program did" : "QEMU: " + complaints;
}

}  // namespace

std::vector<std::string> GuestSpec::guest_environment() {
    const char* path = std::getenv("PATH");
    std::vector<std::string> env{fmt::format("PATH={}{}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                             path ? path : "", path ? ":" : "")};
    for (char** variable = environ; *variable; variable++) {
        const std::string_view text(*variable);
        if (is_passed(text.substr(0, text.find('=')))) env.emplace_back(text);
    }
    return env;
}

Result<GuestReport> run_guest_report(const GuestSpec& spec) {
    const GuestKernel kernel = TRY(pick_kernel(spec.kernel, spec.module_dir));
    const std::string image = TRY(build_image(spec, kernel));
    const UniqueFd initramfs = TRY(in_memory_file(image));
    GuestReport report;
    report.release = kernel.release;
    for (const std::string& text : spec.let_through) report.console.let_through(text);
    for (const std::string& function : spec.let_races) report.console.let_race(function);
    VmConfig config{kernel.image, spec.cpus, memory_for(spec, image.size()), spec.icount, spec.parallel, spec.keyboard};
    tell(spec, fmt::format("vm: booting {} ({}, {} MiB)\n", kernel.release,
                           uses_kvm(config) ? "KVM" : "software emulation", config.memory_mib));
    Qemu qemu = TRY(Qemu::start(config, initramfs));
    Relay(spec, qemu, report).run();
    report.failure = describe_failure(report, qemu);
    return report;
}

Result<int> run_guest(const GuestSpec& spec) {
    const GuestReport report = TRY(run_guest_report(spec));
    if (report.good()) return report.status;
    if (report.status > 128 && !report.finished) return report.status;  // ended by a signal: asked for, no fault
    std::string text = fmt::format("VM with kernel {}: ", report.release);
    if (!report.console.clean()) text += "its kernel reported: " + report.console.splats().front() + "; ";
    if (!report.failure.empty()) text += report.failure + "; ";
    for (const auto& left : report.left) text += left + "; ";
    text.resize(text.size() - 2);
    if (!report.console.clean() || !report.failure.empty()) {
        const std::string excerpt = report.console.excerpt(report.console.clean() ? 12 : 60);
        if (!excerpt.empty()) text += "; its console:\n" + excerpt;
    }
    if (text.ends_with('\n')) text.pop_back();
    return Error{Errc::system, text};
}

}  // namespace kpl
