// SPDX-License-Identifier: MIT
#include "main/diagnosis.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "device/device.hpp"
#include "guest/kernels.hpp"
#include "inspect/kernel_config.hpp"
#include "inspect/kernel_rules.hpp"
#include "inspect/knobs.hpp"
#include "main/vm.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr unsigned cap_sys_admin = 21, cap_perfmon = 38, cap_bpf = 39;
constexpr const char* debugfs_list = "/sys/kernel/debug/kprobes/list";

using Findings = std::vector<Finding>;

bool has(const Machine& m, unsigned capability) { return m.capabilities >> capability & 1; }

void add(Findings& out, bool good, const std::string& what, Health otherwise, const std::string& wrong,
         const std::string& mend) {
    if (good)
        out.push_back({what});
    else
        out.push_back({wrong, otherwise, mend});
}

// Without them, nothing else is known.
void kernel_files(const Machine& m, Findings& out) {
    static constexpr const char* mounts[][3] = {{"/proc", "/proc/self/status", "mount -t proc proc /proc"},
                                                {"/sys", "/sys/kernel", "mount -t sysfs sysfs /sys"}};
    for (const auto& [at, file, mend] : mounts)
        if (!m.exists(file))
            out.push_back({fmt::format("{} can't be read: {} is not mounted", file, at), Health::bad, mend});
}

void rights(const Machine& m, Findings& out) {
    add(out, m.is_root(), "rights", Health::bad,
        "no right to probe: neither CAP_SYS_ADMIN, nor CAP_PERFMON with CAP_BPF", "sudo kprobe-lua …");
}

void configuration(const Machine& m, Findings& out) {
    const KernelConfig config = KernelConfig::read(m.release, m.root);
    std::string there, unsaid;
    Findings missing;
    for (const ConfigRow& row : config_rows()) {
        const auto has = config.has(row);
        if (!has || *has)
            (has ? there : unsaid) += fmt::format(" {}", row.name);
        else
            missing.push_back({fmt::format("kernel without CONFIG_{}: {}", row.name, row.without),
                               row.needed ? Health::bad : Health::poor,
                               "boot a kernel with it, as Debian's: apt-get install linux-image-amd64"});
    }
    if (!there.empty()) out.push_back({"kernel configuration:" + there});
    if (!unsaid.empty())
        out.push_back({"kernel configuration, not known:" + unsaid, Health::unknown, "sudo kprobe-lua doctor"});
    out.insert(out.end(), missing.begin(), missing.end());
}

void locks(const Machine& m, Findings& out) {
    const std::string state = lockdown(m);
    add(out, state != "confidentiality",
        "kernel is not locked down" + (state == "integrity" ? std::string(" against probes (integrity)") : ""),
        Health::bad, "kernel is locked down (confidentiality): it refuses probes",
        "boot without lockdown=confidentiality, or write lockdown=integrity in its place");
    const bool loaded = m.exists("/sys/module/kprobe_lua");
    const bool signs = state == "integrity" || state == "confidentiality" ||
                       m.read("/sys/module/module/parameters/sig_enforce") == "Y";
    if (!signs || loaded) return;
    const bool secure = secure_boot(m).value_or(false);
    out.push_back({secure ? "Secure Boot: only signed modules are loaded" : "only signed modules are loaded",
                   Health::bad,
                   fmt::format("/lib/modules/{}/build/scripts/sign-file sha256 KEY.priv KEY.der {} (enrol "
                               "the key before: mokutil --import KEY.der){}",
                               m.release, m.module_file(),
                               secure ? ", or switch Secure Boot off: mokutil --disable-validation" : "")});
}

// The release that a module was built for: the first word of its vermagic.
std::string built_for(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::string key = "vermagic=";
    const size_t at = bytes.find(key);
    if (at == bytes.npos) return {};
    return bytes.substr(at + key.size(), bytes.find(' ', at) - at - key.size());
}

void module_file(const Machine& m, Findings& out) {
    const bool loaded = m.exists("/sys/module/kprobe_lua"), built = m.exists(m.module_file());
    // Headers are for building: what is loaded or built needs none.
    const bool headers = m.exists("/lib/modules/" + m.release + "/build");
    if (headers || (!loaded && !built))
        add(out, headers, "kernel headers", Health::bad, "no headers of this kernel to build the module with",
            "apt-get install linux-headers-" + m.release);
    if (loaded) return;
    add(out, built, "module is built", Health::bad, "module is not built for this kernel", "make");
    if (!built) return;
    const std::string release = built_for(m.root + m.module_file());
    add(out, release == m.release, "module is of this kernel", Health::bad,
        fmt::format("module is built for {}, not for {}", release, m.release), "make");
}

void module_in_kernel(const Machine& m, Findings& out) {
    const bool loaded = m.exists("/sys/module/kprobe_lua");
    add(out, loaded, "module is loaded", Health::bad, "module is not loaded", "insmod " + m.module_file());
    if (!loaded) return;
    if (!m.is_root())
        return out.push_back({"module's ABI: only root may ask", Health::unknown, "sudo kprobe-lua doctor"});
    add(out, !m.device_error, fmt::format("module has ABI {}, as this program", KPL_ABI_VERSION), Health::bad,
        m.device_error.value_or(""), "rmmod kprobe_lua; insmod " + m.module_file());
}

void file_systems(const Machine& m, Findings& out) {
    if (!m.is_root())
        return out.push_back({"debugfs and tracefs: only root sees them", Health::unknown, "sudo kprobe-lua doctor"});
    add(out, m.exists(debugfs_list), "debugfs is mounted", Health::poor,
        "debugfs is not mounted: the blacklist can't be read", "mount -t debugfs none /sys/kernel/debug");
    add(out,
        m.exists("/sys/kernel/tracing/enabled_functions") || m.exists("/sys/kernel/debug/tracing/enabled_functions"),
        "tracefs is mounted", Health::poor, "tracefs is not mounted: list does not show what ftrace traces",
        "mount -t tracefs none /sys/kernel/tracing");
}

void settings(const Machine& m, Findings& out) {
    for (const Knob& knob : knobs()) {
        const auto now = read_knob(knob, m.root);
        const KnobValue* const value = now ? knob.find(*now) : nullptr;
        const bool moot = knob.name == "modules" && m.exists("/sys/module/kprobe_lua");
        if (!value || moot) continue;
        const bool slower = value->effect == KnobValue::Effect::Slower;
        add(out, value->effect == KnobValue::Effect::Fine, std::string(value->meaning),
            slower ? Health::poor : Health::bad, std::string(value->meaning), knob.command(knob.values.front().value));
    }
}

bool in_path(const Machine& m, const std::string& program) {
    return m.exists("/usr/bin/" + program) || m.exists("/usr/local/bin/" + program);
}

bool has_vm_kernel(const Machine& m) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(m.root + m.modules, error))
        if (fs::exists(module_for(m.root + m.modules, entry.path().filename()), error) &&
            m.exists("/boot/vmlinuz-" + entry.path().filename().string()))
            return true;
    return false;
}

}  // namespace

std::string Machine::module_file() const { return module_for(root + modules, release).substr(root.size()); }

Machine Machine::here() {
    Machine machine;
    machine.release = kernel_release();
    machine.modules = module_directory();
    const std::string status = machine.read("/proc/self/status"), key = "CapEff:\t";
    if (const size_t at = status.find(key); at != status.npos)
        std::from_chars(status.data() + at + key.size(), status.data() + status.size(), machine.capabilities, 16);
    if (const auto device = Device::open(); !device) machine.device_error = device.error().text;
    return machine;
}

std::string Machine::read(const std::string& path) const {
    std::ifstream file(root + path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

bool Machine::exists(const std::string& path) const { return ::access((root + path).c_str(), F_OK) == 0; }

bool Machine::is_root() const { return has(*this, cap_sys_admin) || (has(*this, cap_perfmon) && has(*this, cap_bpf)); }

std::string lockdown(const Machine& machine) {
    const std::string state = machine.read("/sys/kernel/security/lockdown");
    const size_t open = state.find('['), close = state.find(']');
    return open == state.npos || close == state.npos ? "" : state.substr(open + 1, close - open - 1);
}

std::optional<bool> secure_boot(const Machine& machine) {
    // Four bytes of attributes, then the value.
    const std::string value = machine.read("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c");
    if (value.size() != 5) return std::nullopt;
    return value[4] == 1;
}

Findings diagnose(const Machine& machine) {
    Findings out;
    kernel_files(machine, out);
    if (!out.empty()) return out;
    for (const auto check : {rights, configuration, locks, module_file, module_in_kernel, file_systems, settings})
        check(machine, out);
    return out;
}

Findings diagnose_vm(const Machine& machine) {
    Findings out;
    add(out, in_path(machine, "qemu-system-x86_64"), "QEMU", Health::bad, "no QEMU", "apt-get install qemu-system-x86");
    add(out, has_vm_kernel(machine), "a kernel and its module", Health::bad, "no kernel with a module",
        "apt-get install linux-image-cloud-amd64 linux-headers-cloud-amd64 && make");
    return out;
}

}  // namespace kpl
