// SPDX-License-Identifier: MIT
#include "main/doctor.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>

#include "device/device.hpp"
#include "inspect/debugfs.hpp"
#include "inspect/kernel_config.hpp"
#include "luahost/host.hpp"

namespace kpl {
namespace {

bool any(const std::vector<Finding>& findings, Health health) {
    return std::any_of(findings.begin(), findings.end(), [health](const Finding& f) { return f.health == health; });
}

const char* mark(Health health) {
    switch (health) {
        case Health::good: return "ok";
        case Health::poor: return "poor";
        case Health::bad: return "no";
        case Health::unknown: return "?";
    }
    return "";
}

void row(const char* name, const std::string& value) {
    fmt::print("  {:<12} {}\n", name, value.empty() ? "not known" : value);
}

std::string distribution(const Machine& machine) {
    const std::string text = machine.read("/etc/os-release"), key = "PRETTY_NAME=\"";
    const size_t at = text.find(key);
    return at == text.npos ? "" : text.substr(at + key.size(), text.find('"', at + key.size()) - at - key.size());
}

std::string features(uint64_t bits) {
    static constexpr std::pair<uint64_t, const char*> names[] = {{KPL_FEATURE_JIT, "jit"},
                                                                 {KPL_FEATURE_KRETPROBE, "kretprobe"},
                                                                 {KPL_FEATURE_FTRACE, "ftrace"},
                                                                 {KPL_FEATURE_DIRECT, "direct"}};
    std::string out;
    for (const auto& [bit, name] : names)
        if (bits & bit) out += fmt::format("{}{}", out.empty() ? "" : " ", name);
    return out.empty() ? "none" : out;
}

void program() {
    fmt::print("program\n");
    row("version", KPL_VERSION);
    row("ABI", std::to_string(KPL_ABI_VERSION));
    row("LuaJIT", LuaHost::lua_version());
}

void kernel(const Machine& machine) {
    utsname name{};
    ::uname(&name);
    fmt::print("kernel\n");
    row("release", fmt::format("{} {}", name.release, name.machine));
    row("version", name.version);
    row("system", distribution(machine));
    const KernelConfig config = KernelConfig::read(machine.release);
    row("config from", config.source().empty() ? "what the kernel shows" : config.source());
    for (const ConfigRow& option : config_rows()) {
        const auto has = config.has(option);
        fmt::print("    CONFIG_{:<26} {}\n", option.name, !has ? "?" : *has ? "y" : "n");
    }
    row("lockdown", lockdown(machine));
    const auto secure = secure_boot(machine);
    row("secure boot", !secure ? "" : *secure ? "on" : "off");
    row("tainted", machine.read("/proc/sys/kernel/tainted"));
}

void module_rows(const Machine& machine) {
    fmt::print("module\n");
    row("file", machine.exists(machine.module_file()) ? machine.module_file() : "none for this kernel");
    row("loaded", machine.exists("/sys/module/kprobe_lua") ? "yes" : "no");
    const auto device = Device::open();
    if (!device) return row("device", device.error().text);
    const auto info = device->info();
    if (!info) return row("device", info.error().text);
    row("ABI", fmt::format("{}, {:016x}", info->abi, info->abi_hash));
    row("features", features(info->features));
    row("CPUs", std::to_string(info->nr_cpus));
    row("refused to others", std::to_string(info->refused));
}

void settings(const Machine& machine) {
    fmt::print("settings\n");
    for (const char* path :
         {"/proc/sys/debug/kprobes-optimization", "/proc/sys/kernel/ftrace_enabled",
          "/proc/sys/net/core/bpf_jit_enable", "/proc/sys/net/core/bpf_jit_harden", "/proc/sys/kernel/kptr_restrict",
          "/proc/sys/kernel/perf_event_paranoid", "/proc/sys/kernel/unprivileged_bpf_disabled"})
        fmt::print("  {:<36} {}\n", std::string(path).substr(10),
                   machine.read(path).empty() ? "not known" : machine.read(path));
    const auto enabled = probes_enabled();
    fmt::print("  {:<36} {}\n", "kprobes", !enabled ? "not known" : *enabled ? "enabled" : "disabled");
    const auto probes = read_probe_list();
    fmt::print("  {:<36} {}\n", "kprobes of the system", probes ? std::to_string(probes->size()) : "not known");
}

}  // namespace

std::string print_findings(const std::vector<Finding>& findings) {
    std::string out;
    for (size_t i = 0; i < findings.size(); i++) {
        const Finding& finding = findings[i];
        out += fmt::format("{:<5} {}\n", mark(finding.health), finding.what);
        const bool again = i + 1 < findings.size() && findings[i + 1].mend == finding.mend;
        if (finding.health != Health::good && !again) out += fmt::format("        {}\n", finding.mend);
    }
    return out;
}

int doctor() {
    const Machine machine = Machine::here();
    const auto here = diagnose(machine), vm = diagnose_vm(machine);
    fmt::print("kprobe-lua {} on kernel {}\n{}\nin a throwaway VM (--vm)\n{}\n", KPL_VERSION, machine.release,
               print_findings(here), print_findings(vm));
    const bool bad = any(here, Health::bad);
    const char* otherwise =
        any(vm, Health::bad) ? "Nothing can be probed yet." : "This kernel can't be probed yet; --vm can be used.";
    fmt::print("{}\n", bad                       ? otherwise
                       : any(here, Health::poor) ? "This kernel can be probed, if less well than it could be."
                                                 : "This kernel can be probed.");
    return bad ? 1 : 0;
}

int info() {
    const Machine machine = Machine::here();
    program();
    kernel(machine);
    module_rows(machine);
    settings(machine);
    return 0;
}

}  // namespace kpl
