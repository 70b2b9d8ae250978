// SPDX-License-Identifier: MIT
#include "inspect/system_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>

#include "base/device_users.hpp"
#include "inspect/kprobe_table.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {
namespace {

constexpr const char* own_module = "kprobe_lua";
constexpr const char* own_stubs = "kprobe_lua_stubs";

// Whose handler it is: a module's, or a part of the kernel by the function that it registers.
std::string owner_of(const Symbol& handler) {
    if (!handler.module.empty()) return handler.module;
    static constexpr std::pair<const char*, const char*> dispatchers[] = {
        {"kprobe_dispatcher", "kprobe_events"},         {"kretprobe_dispatcher", "kprobe_events"},
        {"function_trace_call", "function tracer"},     {"function_stack_trace_call", "function tracer"},
        {"trace_graph_entry", "function_graph tracer"}, {"call_direct_funcs", "bpf"},
    };
    for (const auto& [name, owner] : dispatchers)
        if (handler.name == name) return owner;
    return handler.name;
}

std::string state_of(const ListedProbe& probe) {
    if (probe.gone) return "gone";
    if (probe.disabled) return "disabled";
    if (probe.optimized) return "optimized";
    return probe.ftrace ? "ftrace" : "int3";
}

std::string qualified(const std::string& module, std::string place) {
    if (place.ends_with("+0x0")) place.resize(place.size() - 4);
    return module.empty() ? place : module + ":" + place;
}

// What the kernel's table adds; each of its probes stands for one line of debugfs' list.
void add_owners(std::vector<SystemProbe>& probes, Kallsyms& symbols, Types& types) {
    const auto memory = KernelMemory::open();
    if (!memory) return;
    auto table = read_kprobe_table(*memory, symbols, types);
    if (!table) return;
    std::multimap<std::pair<uint64_t, bool>, KernelKprobe> left;
    for (const KernelKprobe& one : table->probes) left.emplace(std::pair{one.addr, one.is_return}, one);
    for (SystemProbe& probe : probes) {
        const auto found = left.find({probe.addr, probe.kind == "kretprobe"});
        if (found == left.end()) continue;
        const KernelKprobe one = found->second;
        left.erase(found);
        probe.missed = one.missed;
        if (const auto handler = symbols.at(one.handler); handler && one.handler) {
            probe.owner = owner_of(*handler);
            // The module's kretprobes have a pre-handler of their own, so that the kernel does not know them
            // as such.
            if (probe.owner == own_module && handler->name.starts_with("kpl_hit_call")) probe.kind = "kretprobe";
        }
    }
}

// Functions that ftrace traces, but for those that it traces for a kprobe, and what keeps its set of direct calls
// alive.
void add_traced(std::vector<SystemProbe>& probes, Kallsyms& symbols) {
    const auto traced = read_traced();
    if (!traced) return;
    for (const TracedFunction& one : *traced) {
        if (one.callback == "kprobe_ftrace_handler" || one.module == own_stubs) continue;
        SystemProbe probe;
        const auto found = symbols.find(one.name, one.module.empty() ? "vmlinux" : one.module);
        if (found && found->size() == 1) probe.addr = found->front().addr;
        probe.place = qualified(one.module, one.name);
        if (!one.direct.empty()) {
            probe.kind = probe.state = "direct";
            probe.owner = one.direct_module == own_stubs   ? own_module
                          : one.direct.starts_with("bpf_") ? "bpf"
                                                           : owner_of({one.direct, one.direct_module});
            probes.push_back(probe);
            // What ftrace calls there beside may be for a kprobe.
            const auto served = [&](const SystemProbe& other) {
                return other.addr == probe.addr && other.state == "ftrace";
            };
            if (one.users < 2 || (one.users == 2 && std::any_of(probes.begin(), probes.end(), served))) continue;
        }
        const unsigned users = one.users - !one.direct.empty();
        probe.kind = probe.state = "ftrace";
        probe.owner.clear();
        if (one.users > 1)
            probe.owner = fmt::format("{} user{}", users, users == 1 ? "" : "s");
        else if (!one.callback.empty())
            probe.owner = owner_of({one.callback, one.callback_module});
        probes.push_back(std::move(probe));
    }
}

}  // namespace

std::vector<CallUnderWay> calls_under_way(const std::string& path) {
    std::vector<CallUnderWay> calls;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        CallUnderWay call;
        const char* const end = line.data() + line.size();
        const auto [behind, error] = std::from_chars(line.data(), end, call.pid);
        const size_t first = static_cast<size_t>(behind - line.data());
        const size_t second = line.find('\t', first + 1);
        if (error != std::errc() || behind == end || *behind != '\t' || second == line.npos) continue;
        const std::string function = line.substr(first + 1, second - first - 1);
        call.comm = line.substr(second + 1);
        const size_t module = function.find(" [");  // "kpl_t_sleep [kpl_target]"
        call.function = module == function.npos ? function
                                                : qualified(function.substr(module + 2, function.size() - module - 3),
                                                            function.substr(0, module));
        calls.push_back(std::move(call));
    }
    return calls;
}

Result<std::vector<SystemProbe>> system_probes(Kallsyms& symbols, Types& types) {
    std::vector<SystemProbe> probes;
    for (const ListedProbe& listed : TRY(read_probe_list())) {
        SystemProbe probe;
        probe.addr = listed.addr;
        probe.kind = listed.is_return ? "kretprobe" : "kprobe";
        probe.place = qualified(listed.module, listed.place);
        probe.state = state_of(listed);
        probes.push_back(std::move(probe));
    }
    if (!probes.empty()) add_owners(probes, symbols, types);
    add_traced(probes, symbols);
    std::stable_sort(probes.begin(), probes.end(), [](const auto& a, const auto& b) { return a.addr < b.addr; });
    std::vector<int> pids;
    for (SystemProbe& probe : probes) {
        if (probe.owner != own_module) continue;
        if (pids.empty()) pids = device_users(KPL_DEVICE);
        probe.pids = pids;
    }
    return probes;
}

}  // namespace kpl
