// SPDX-License-Identifier: MIT
// doctor's findings on machines that are directories.
#include "main/diagnosis.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "main/doctor.hpp"
#include "temp_dir.hpp"

using namespace kpl;
using namespace kpl::test;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t sys_admin = 1ull << 21, perfmon = 1ull << 38, bpf = 1ull << 39;

// A machine on which all is well.
struct Fake : Machine {
    TempDir dir;

    Fake() {
        root = dir.path();
        release = "6.1.0-1-test";
        capabilities = sys_admin;
        modules = "/build/kmod";
        put("/proc/modules", "");
        put("/proc/self/status", "CapEff:\t0000000000200000\n");
        put("/sys/kernel/notes", "");
        put("/proc/kallsyms", "ffffffff81000000 T register_kprobe\n");
        put("/boot/config-6.1.0-1-test",
            "CONFIG_KPROBES=y\nCONFIG_MODULES=y\nCONFIG_KALLSYMS=y\nCONFIG_KRETPROBES=y\nCONFIG_DEBUG_INFO_"
            "BTF=y\n"
            "CONFIG_OPTPROBES=y\nCONFIG_KALLSYMS_ALL=y\nCONFIG_FUNCTION_TRACER=y\nCONFIG_DYNAMIC_FTRACE="
            "y\nCONFIG_DYNAMIC_FTRACE_WITH_REGS=y\n"
            "CONFIG_BPF=y\nCONFIG_BPF_EVENTS=y\nCONFIG_TRACEPOINTS=y\nCONFIG_UPROBES=y\nCONFIG_HAVE_HW_BREAKPOINT=y\n"
            "CONFIG_KPROBES_ON_FTRACE=y\nCONFIG_BPF_JIT=y\nCONFIG_DEBUG_FS=y\nCONFIG_PROC_KCORE=y\n");
        put("/lib/modules/6.1.0-1-test/build/Makefile", "");
        put("/build/kmod/6.1.0-1-test/kprobe_lua.ko", std::string("\x7f"
                                                                  "ELF\0vermagic=6.1.0-1-test SMP\0",
                                                                  32));
        put("/sys/module/kprobe_lua/refcnt", "0\n");
        put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        put("/sys/kernel/debug/kprobes/list", "");
        put("/sys/kernel/debug/kprobes/enabled", "1\n");
        put("/sys/kernel/tracing/enabled_functions", "");
        put("/proc/sys/kernel/ftrace_enabled", "1\n");
        put("/proc/sys/debug/kprobes-optimization", "1\n");
        put("/proc/sys/net/core/bpf_jit_enable", "1\n");
        put("/proc/sys/kernel/kptr_restrict", "0\n");
    }

    void put(const std::string& path, const std::string& text) { dir.write(path, text); }
    void drop(const std::string& path) { fs::remove_all(root + path); }

    // The findings that are not good, as "bad: what -> remedy".
    std::vector<std::string> faults() const {
        static constexpr const char* names[] = {"good", "poor", "bad", "unknown"};
        std::vector<std::string> out;
        for (const Finding& f : diagnose(*this))
            if (f.health != Health::good)
                out.push_back(std::string(names[static_cast<int>(f.health)]) + ": " + f.what + " -> " + f.mend);
        return out;
    }
};

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("a machine on which all is well") {
    Fake machine;
    CHECK(machine.faults().empty());
    CHECK(print_findings(diagnose(machine)).find("ok    module is loaded\n") != std::string::npos);
}

TEST_CASE("what can't be read is named, and nothing made of it") {
    Fake machine;
    machine.drop("/proc");
    machine.capabilities = 0;  // as Machine::here() finds none there
    const std::string proc = "bad: /proc/self/status can't be read: /proc is not mounted -> mount -t proc proc /proc";
    CHECK(machine.faults() == Strings{proc});
    machine.drop("/sys");
    const std::string sys = "bad: /sys/kernel can't be read: /sys is not mounted -> mount -t sysfs sysfs /sys";
    CHECK(machine.faults() == Strings{proc, sys});
}

TEST_CASE("rights") {
    Fake machine;
    machine.capabilities = perfmon | bpf;
    CHECK(machine.faults().empty());
    machine.capabilities = perfmon;
    const auto faults = machine.faults();
    REQUIRE(faults.size() >= 1);
    CHECK(faults[0] ==
          "bad: no right to probe: neither CAP_SYS_ADMIN, nor CAP_PERFMON with CAP_BPF -> sudo kprobe-lua …");
    // What can't be seen is not called wrong.
    for (size_t i = 1; i < faults.size(); i++) CHECK(faults[i].starts_with("unknown: "));
}

TEST_CASE("the kernel's configuration") {
    const char* boot = "boot a kernel with it, as Debian's: apt-get install linux-image-amd64";
    Fake machine;
    machine.put("/boot/config-6.1.0-1-test", "CONFIG_KPROBES=m\n# CONFIG_OPTPROBES is not set\n");
    machine.put("/sys/kernel/btf/vmlinux", "");
    machine.put("/proc/kcore", "");
    // What the file does not set is looked for in what the kernel shows.
    machine.put("/proc/kallsyms",
                "ffffffff81000000 T register_kretprobe\nffffffff81000000 d kprobe_table\nffffffff81000000 T "
                "ftrace_set_filter_ip\n"
                "ffffffff81000000 T ftrace_regs_caller\nffffffff81000000 T tracepoint_probe_register\n"
                "ffffffff81000000 T __bpf_call_base\nffffffff81000000 T bpf_get_raw_tracepoint\n"
                "ffffffff81000000 T uprobe_register\nffffffff81000000 T register_wide_hw_breakpoint\n");
    CHECK(machine.faults() ==
          Strings{"poor: kernel without CONFIG_OPTPROBES: a probe within a function costs a breakpoint -> " +
                      std::string(boot),
                  "poor: kernel without CONFIG_KPROBES_ON_FTRACE: a kprobe on a function's entry costs a "
                  "breakpoint -> " +
                      std::string(boot)});
    machine.put("/boot/config-6.1.0-1-test",
                "CONFIG_KPROBES=y\nCONFIG_OPTPROBES=y\nCONFIG_KPROBES_ON_FTRACE=y\nCONFIG_FUNCTION_TRACER=y\n"
                "# CONFIG_KALLSYMS_ALL is not set\n# CONFIG_DYNAMIC_FTRACE is not set\n");
    machine.put("/proc/kallsyms",
                "ffffffff81000000 T register_kretprobe\nffffffff81000000 T ftrace_regs_caller\nffffffff81000000 T "
                "tracepoint_probe_register\n"
                "ffffffff81000000 T __bpf_call_base\nffffffff81000000 T bpf_get_raw_tracepoint\n"
                "ffffffff81000000 T uprobe_register\nffffffff81000000 T register_wide_hw_breakpoint\n");
    CHECK(machine.faults() ==
          Strings{"poor: kernel without CONFIG_KALLSYMS_ALL: no tracepoint is found, list does not know whose probes "
                  "are, a probe within a function costs a breakpoint, and returns are caught only of functions that "
                  "ftrace calls -> " +
                      std::string(boot),
                  "poor: kernel without CONFIG_DYNAMIC_FTRACE: a probe on a function costs a breakpoint, and no return "
                  "of a module's function is caught -> " +
                      std::string(boot)});
    machine.drop("/boot/config-6.1.0-1-test");
    const auto faults = machine.faults();
    REQUIRE_FALSE(faults.empty());
    CHECK(faults[0] == "bad: kernel without CONFIG_KPROBES: nothing can be probed -> " + std::string(boot));
}

TEST_CASE("locks") {
    Fake machine;
    machine.put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    CHECK(machine.faults().empty());  // the module is loaded already
    machine.put("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    CHECK(machine.faults() == Strings{"bad: kernel is locked down (confidentiality): it refuses probes -> "
                                      "boot without lockdown=confidentiality, "
                                      "or write lockdown=integrity in its place"});
    machine.put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    machine.drop("/sys/module/kprobe_lua");
    auto faults = machine.faults();
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].starts_with(
        "bad: only signed modules are loaded -> /lib/modules/6.1.0-1-test/build/scripts/sign-file sha256 "));
    CHECK(faults[1] == "bad: module is not loaded -> insmod /build/kmod/6.1.0-1-test/kprobe_lua.ko");
    machine.put("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
                std::string("\6\0\0\0\1", 5));
    CHECK(machine.faults()[0].starts_with("bad: Secure Boot: only signed modules are loaded"));
    CHECK(machine.faults()[0].ends_with("mokutil --disable-validation"));
    machine.put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    CHECK(machine.faults().size() == 1);
    machine.put("/sys/module/module/parameters/sig_enforce", "Y\n");
    CHECK(machine.faults().size() == 2);
}

TEST_CASE("the module") {
    Fake machine;
    machine.device_error = "the loaded kprobe_lua module has ABI 7, this program needs 1";
    CHECK(machine.faults() == Strings{"bad: the loaded kprobe_lua module has ABI 7, this program needs 1 -> "
                                      "rmmod kprobe_lua; insmod /build/kmod/6.1.0-1-test/kprobe_lua.ko"});
    machine.drop("/sys/module/kprobe_lua");
    CHECK(machine.faults() == Strings{"bad: module is not loaded -> insmod /build/kmod/6.1.0-1-test/kprobe_lua.ko"});
    machine.put("/build/kmod/6.1.0-1-test/kprobe_lua.ko", std::string("vermagic=6.1.0-9-other SMP"));
    CHECK(machine.faults()[0] == "bad: module is built for 6.1.0-9-other, not for 6.1.0-1-test -> make");
    machine.drop("/build");
    CHECK(machine.faults()[0] == "bad: module is not built for this kernel -> make");
    machine.drop("/lib/modules");
    CHECK(machine.faults()[0] ==
          "bad: no headers of this kernel to build the module with -> apt-get install "
          "linux-headers-6.1.0-1-test");
}

TEST_CASE("file systems and settings") {
    Fake machine;
    const std::tuple<const char*, const char*, const char*> rows[] = {
        {"/sys/kernel/debug/kprobes/enabled", "0\n",
         "bad: kprobes are switched off: none is hit -> echo 1 > /sys/kernel/debug/kprobes/enabled"},
        {"/proc/sys/kernel/ftrace_enabled", "0\n",
         "bad: ftrace is switched off: probes on functions are not hit -> sysctl -w kernel.ftrace_enabled=1"},
        {"/proc/sys/debug/kprobes-optimization", "0\n",
         "poor: jump optimization is off: a probe within a function costs a breakpoint -> sysctl -w "
         "debug.kprobes-optimization=1"},
        {"/proc/sys/net/core/bpf_jit_enable", "0\n",
         "poor: JIT is off: handlers are interpreted -> sysctl -w net.core.bpf_jit_enable=1"},
        {"/proc/sys/kernel/kptr_restrict", "2\n",
         "bad: kernel.kptr_restrict hides addresses, from root, too -> sysctl -w kernel.kptr_restrict=1"},
    };
    for (const auto& [path, value, fault] : rows) {
        INFO(path);
        const std::string good = machine.read(path);
        machine.put(path, value);
        CHECK(machine.faults() == Strings{fault});
        machine.put(path, good);
    }
    machine.drop("/sys/kernel/debug/kprobes/list");
    CHECK(machine.faults() == Strings{"poor: debugfs is not mounted: the blacklist can't be read -> mount -t "
                                      "debugfs none /sys/kernel/debug"});
    machine.put("/sys/kernel/debug/kprobes/list", "");
    machine.drop("/sys/kernel/tracing");
    CHECK(machine.faults() == Strings{"poor: tracefs is not mounted: list does not show what ftrace traces "
                                      "-> mount -t tracefs none /sys/kernel/tracing"});
    machine.put("/sys/kernel/debug/tracing/enabled_functions", "");
    CHECK(machine.faults().empty());
}

TEST_CASE("findings as text") {
    CHECK(print_findings({{"fine"},
                          {"worse", Health::poor, "mend"},
                          {"worst", Health::bad, "mend"},
                          {"hidden", Health::unknown, "sudo"}}) ==
          "ok    fine\n"
          "poor  worse\n"
          "no    worst\n"
          "        mend\n"
          "?     hidden\n"
          "        sudo\n");
}

TEST_CASE("throwaway VMs") {
    Fake machine;
    CHECK(diagnose_vm(machine)[0].health == Health::bad);
    machine.put("/usr/bin/qemu-system-x86_64", "");
    machine.put("/boot/vmlinuz-6.1.0-1-test", "");
    for (const Finding& finding : diagnose_vm(machine)) CHECK(finding.health == Health::good);
}
