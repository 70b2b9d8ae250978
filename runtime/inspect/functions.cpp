// SPDX-License-Identifier: MIT
#include "inspect/functions.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "symbols/target_text.hpp"

namespace kpl {

namespace {

bool is_cold_part(std::string_view name) { return name.ends_with(".cold") || name.find(".cold.") != name.npos; }

}  // namespace

bool is_static_call(std::string_view name) { return name.starts_with("__SCT__"); }

bool is_trampoline(std::string_view name) {
    constexpr std::string_view copied[] = {
        "ftrace_caller",     "ftrace_caller_op_ptr",   "ftrace_call",
        "ftrace_caller_end", "ftrace_regs_caller",     "ftrace_regs_caller_op_ptr",
        "ftrace_regs_call",  "ftrace_regs_caller_jmp", "ftrace_regs_caller_end",
        "relocate_kernel",   "identity_mapped",        "virtual_mapped",
        "swap_pages",        "core_restore_code",      "restore_registers",
        "restore_image",
    };
    return is_static_call(name) || std::find(std::begin(copied), std::end(copied), name) != std::end(copied);
}

std::string_view why_no_probe(std::string_view name) {
    constexpr std::string_view early = "a CPU runs it where it can take no breakpoint";
    constexpr std::string_view thunk =
        "the kernel's calls and returns go through it, those of a breakpoint's handler, too";
    constexpr std::string_view entry = "the entry of a breakpoint calls it, before kprobes knows of the breakpoint";
    constexpr std::pair<std::string_view, std::string_view> rows[] = {
        {"secondary_startup_64", early},
        {"secondary_startup_64_no_verify", early},
        {"verify_cpu", early},
        {"early_setup_idt", early},
        {"start_secondary", early},
        {"cr4_init", early},
        {"native_write_cr4", early},
        {"cpu_init_exception_handling", early},
        {"trace_hwlat_callback", entry},
        {"trace_osnoise_callback", entry},
        {"trace_clock_local", entry},
        {"get_cpu_data", entry},  // of hwlat
        {"cond_move_irq_delta_start", entry},
        {"cond_move_softirq_delta_start", entry},
        {"cond_move_thread_delta_start", entry},
        {"__traceiter_nmi_noise", entry},
        {"perf_trace_nmi_noise", entry},
        {"trace_event_raw_event_nmi_noise", entry},
        {"kgdb_ll_trap", entry},
        {"__kgdb_notify", entry},
        {"rcu_read_lock_any_held", entry},
        {"rcu_read_lock_held_common", entry},
        {"rcu_lockdep_current_cpu_online", entry},
    };
    for (const auto& [function, why] : rows)
        if (name.substr(0, name.find('.')) == function) return why;
    for (const std::string_view thunks :
         {"__x86_return_thunk", "__x86_indirect_", "srso_", "retbleed_", "its_return_thunk", "call_depth_return_thunk",
          "zen_untrain_ret", "zen_return_thunk", "entry_untrain_ret"})
        if (name.starts_with(thunks)) return thunk;
    return {};
}

std::string_view why_no_return(std::string_view name) {
    if (is_cold_part(name)) return "it is a part of a function, which jumps to it; probe the function";
    constexpr std::string_view fork = "it is where new tasks begin";
    constexpr std::string_view own = "the kernel's own return probes call it on their way back";
    constexpr std::pair<std::string_view, std::string_view> rows[] = {
        // The kernel has it on a list, and misses it behind a landing pad.
        {"__switch_to", "it returns as another task than it was called by; probe its entry, or finish_task_switch"},
        {"ret_from_fork", fork},
        {"ret_from_fork_asm", fork},
    };
    for (const std::string_view pool : {"objpool_", "__objpool_", "freelist_", "__freelist_"})
        if (name.starts_with(pool)) return own;
    for (const auto& [function, why] : rows)
        if (name.substr(0, name.find('.')) == function) return why;
    return {};
}

bool is_part_of_function(std::string_view name) {
    return name.starts_with("__pfx_") || name.starts_with("__cfi_") || is_trampoline(name) || name.starts_with('.') ||
           is_cold_part(name);
}

bool is_variant(std::string_view name) { return name.find('.') != name.npos && !is_part_of_function(name); }

Result<std::vector<Symbol>> variants_of(Kallsyms& symbols, const std::string& name, const std::string& module) {
    auto found = TRY(symbols.glob(name + ".*", module));
    std::erase_if(found, [](const Symbol& symbol) { return is_part_of_function(symbol.name); });
    const auto in_module = [](const Symbol& symbol) { return !symbol.module.empty(); };
    if (!std::all_of(found.begin(), found.end(), in_module)) std::erase_if(found, in_module);
    return found;
}

std::string target_name(const Symbol& symbol) {
    return symbol.module.empty() ? symbol.name : symbol.module + ":" + symbol.name;
}

AddressRange init_text(Kallsyms& symbols) {
    // Code for unloading, which nothing in the kernel itself ever runs, lies behind and goes with it.
    const auto begin = symbols.address("_sinittext"), end = symbols.address("__init_end");
    return begin && end && *begin && *end ? AddressRange{*begin, *end} : AddressRange{};
}

Result<std::vector<Symbol>> probeable_functions(Kallsyms& symbols, const std::string& pattern) {
    const auto [module, name, offset] = TRY(parse_target(pattern));
    if (offset) return std::vector<Symbol>();
    auto matching = TRY(symbols.glob(name, module));
    if (matching.empty()) matching = TRY(variants_of(symbols, name, module));
    const Blacklist blacklist = TRY(Blacklist::read());
    const AddressRange init = init_text(symbols);
    std::vector<Symbol> found;
    for (Symbol& symbol : matching)
        if (!is_part_of_function(symbol.name) && !init.has(symbol.addr) &&
            !TRY(is_forbidden(symbols, blacklist, symbol, symbol.addr)))
            found.push_back(std::move(symbol));
    std::stable_sort(found.begin(), found.end(), [](const Symbol& a, const Symbol& b) {
        return std::tie(a.module, a.name, a.addr) < std::tie(b.module, b.name, b.addr);
    });
    return found;
}

Result<bool> is_forbidden(Kallsyms& symbols, const Blacklist& blacklist, const Symbol& function, uint64_t addr) {
    if (blacklist.covers(addr)) return true;
    const size_t dot = function.name.find('.');
    if (dot == 0 || dot == function.name.npos) return false;
    for (const Symbol& whole : TRY(symbols.find(function.name.substr(0, dot), "vmlinux")))
        if (blacklist.covers(whole.addr)) return true;
    return false;
}

Result<std::vector<AddressRange>> forbidden_ranges(Kallsyms& symbols, const Blacklist& blacklist,
                                                   const Symbol& function, uint64_t size) {
    std::vector<AddressRange> out;
    const uint64_t end = function.addr + size;
    for (const BlacklistRange& range : blacklist.ranges())
        if (range.begin < end && range.end > function.addr) out.push_back({range.begin, range.end});
    if (out.empty() && TRY(is_forbidden(symbols, blacklist, function, function.addr)))
        out.push_back({function.addr, end});
    return out;
}

}  // namespace kpl
