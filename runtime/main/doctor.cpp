// SPDX-License-Identifier: MIT
#include "main/doctor.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "main/vm.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Check {
    const char* what;
    bool for_this_kernel;             // else for --vm
    std::function<bool()> good;
    std::function<std::string()> mend;  // shown when it is not
};

std::string release() {
    utsname name{};
    ::uname(&name);
    return name.release;
}

bool exists(const std::string& path) {
    std::error_code error;
    return fs::exists(path, error);
}

bool has_kprobes() {
    const std::string symbols = read_file("/proc/kallsyms");
    return symbols.find(" register_kprobe\n") != std::string::npos;
}

bool locked_down() {
    const std::string state = read_file("/sys/kernel/security/lockdown");
    return !state.empty() && state.find("[none]") == std::string::npos;
}

bool vm_kernel_ready() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(module_directory(), error))
        if (exists(entry.path() / "kprobe_lua.ko") && exists("/boot/vmlinuz-" + entry.path().filename().string())) return true;
    return false;
}

bool in_path(const std::string& program) {
    for (const char* dir : {"/usr/bin/", "/usr/local/bin/"})
        if (::access((dir + program).c_str(), X_OK) == 0) return true;
    return false;
}

std::vector<Check> checks() {
    const std::string module = module_directory() + "/" + release() + "/kprobe_lua.ko";
    auto text = [](std::string s) { return [s] { return s; }; };
    return {
        {"root", true, [] { return ::geteuid() == 0; }, text("run as root: sudo kprobe-lua …")},
        {"kernel has kprobes", true, has_kprobes, text("boot a kernel with CONFIG_KPROBES=y (Debian's have it)")},
        {"kernel loads modules", true, [] { return exists("/proc/modules"); }, text("boot a kernel with CONFIG_MODULES=y")},
        {"kernel has BTF", true, [] { return exists("/sys/kernel/btf/vmlinux"); }, text("boot a kernel with CONFIG_DEBUG_INFO_BTF=y; without it arguments have no types")},
        {"kernel is not locked down", true, [] { return !locked_down(); }, text("disable Secure Boot, or boot without lockdown=")},
        {"kernel headers", true, [] { return exists("/lib/modules/" + release() + "/build"); }, text("apt-get install linux-headers-" + release())},
        {"module is built", true, [module] { return exists(module); }, text("make")},
        {"module is loaded", true, [] { return exists(KPL_DEVICE); }, text("insmod " + module)},
        {"module opens, ABI fits", true, [] { return Device::open().ok(); },
         [] { auto device = Device::open(); return device ? std::string() : device.error().text; }},
        {"qemu for --vm", false, [] { return in_path("qemu-system-x86_64"); }, text("apt-get install qemu-system-x86")},
        {"a kernel with a module for --vm", false, vm_kernel_ready, text("apt-get install linux-image-cloud-amd64 linux-headers-cloud-amd64 && make")},
    };
}

}  // namespace

int doctor() {
    fmt::print("kprobe-lua on kernel {}\n", release());
    bool this_kernel = true, vm = true;
    for (const Check& check : checks()) {
        const bool good = check.good();
        (check.for_this_kernel ? this_kernel : vm) &= good;
        fmt::print("{:<4} {}{}\n", good ? "ok" : "no", check.what, good ? "" : ": " + check.mend());
    }
    fmt::print("{}\n", this_kernel ? "This kernel can be probed." : vm ? "This kernel can't be probed; --vm can be used." : "Nothing can be probed yet.");
    return this_kernel ? 0 : 1;
}

int info() {
    return 0;
}

}  // namespace kpl
