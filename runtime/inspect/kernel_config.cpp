// SPDX-License-Identifier: MIT
#include "inspect/kernel_config.hpp"

#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <iterator>

namespace kpl {
namespace {

constexpr ConfigRow rows[] = {
    {"KPROBES", true, "register_kprobe", "nothing can be probed"},
    {"MODULES", true, "/proc/modules", "the module can't be loaded"},
    {"KALLSYMS", true, "/proc/kallsyms", "functions have no names"},
    {"KRETPROBES", true, "register_kretprobe", "the module can't be built"},
    {"TRACEPOINTS", true, "tracepoint_probe_register", "the module can't be built"},
    {"BPF", true, "__bpf_call_base", "the module can't be built"},
    {"DEBUG_INFO_BTF", false, "/sys/kernel/btf/vmlinux", "arguments have no types"},
    {"OPTPROBES", false, "optprobe_template_entry", "a probe within a function costs a breakpoint"},
    {"KALLSYMS_ALL", false, "kprobe_table",
     "no tracepoint is found, list does not know whose probes are, a probe within a function costs a breakpoint, and "
     "returns are caught only of functions that ftrace calls"},
    {"BPF_EVENTS", false, "bpf_get_raw_tracepoint", "no tracepoint is found"},
    {"UPROBES", false, "uprobe_register", "programs can't be probed"},
    {"HAVE_HW_BREAKPOINT", false, "register_wide_hw_breakpoint", "data can't be watched"},
    {"FUNCTION_TRACER", false, "ftrace_set_filter_ip", "a probe on a function costs a breakpoint"},
    {"DYNAMIC_FTRACE", false, "ftrace_set_filter_ip",
     "a probe on a function costs a breakpoint, and no return of a module's function is caught"},
    {"DYNAMIC_FTRACE_WITH_REGS", false, "ftrace_regs_caller",
     "probes on a function's entry have no registers by ftrace"},
    {"KPROBES_ON_FTRACE", false, "kprobe_ftrace_handler", "a kprobe on a function's entry costs a breakpoint"},
    {"BPF_JIT", false, "/proc/sys/net/core/bpf_jit_enable", "handlers are interpreted"},
    {"DEBUG_FS", false, "/sys/kernel/debug", "the blacklist and the list of probes can't be read"},
    {"PROC_KCORE", false, "/proc/kcore", "disasm can't read the kernel's text"},
};

// Plain or compressed; empty if there is none.
std::string read_packed(const std::string& path) {
    gzFile file = gzopen(path.c_str(), "rb");
    if (!file) return {};
    std::string text;
    char buffer[65536];
    for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
    gzclose(file);
    return text;
}

}  // namespace

std::span<const ConfigRow> config_rows() { return rows; }

KernelConfig KernelConfig::read(const std::string& release, const std::string& root) {
    KernelConfig config;
    config.root_ = root;
    std::string text;
    for (const std::string& path :
         {std::string("/proc/config.gz"), "/boot/config-" + release, "/lib/modules/" + release + "/config",
          "/lib/modules/" + release + "/build/.config"}) {
        text = read_packed(root + path);
        if (text.find("CONFIG_") == text.npos) continue;
        config.source_ = path;
        break;
    }
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = std::string_view(text).substr(at, end - at);
        const size_t equals = line.find('=');
        if (line.starts_with("CONFIG_") && equals != line.npos && equals + 1 < line.size())
            config.values_.emplace(line.substr(7, equals - 7), line[equals + 1]);
        at = end + 1;
    }
    return config;
}

std::optional<bool> KernelConfig::has(const ConfigRow& row) const {
    if (const auto value = values_.find(row.name); value != values_.end())
        return value->second == 'y' || value->second == 'm';
    // Not every release has every option: where it is not mentioned, what the kernel shows decides, too.
    if (row.evidence.starts_with('/')) return ::access((root_ + std::string(row.evidence)).c_str(), F_OK) == 0;
    if (!symbols_) {
        std::ifstream file(root_ + "/proc/kallsyms");
        symbols_ = std::string(std::istreambuf_iterator<char>(file), {});
    }
    if (symbols_->empty()) return std::nullopt;
    return symbols_->find(" " + std::string(row.evidence) + "\n") != std::string::npos;
}

}  // namespace kpl
