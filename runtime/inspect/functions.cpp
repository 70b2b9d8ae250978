// SPDX-License-Identifier: MIT
#include "inspect/functions.hpp"

#include <algorithm>
#include <tuple>

namespace kpl {

bool is_static_call(std::string_view name) {
    return name.starts_with("__SCT__");
}

bool is_trampoline(std::string_view name) {
    constexpr std::string_view copied[] = {
        "ftrace_caller",     "ftrace_caller_op_ptr",   "ftrace_call",
        "ftrace_caller_end", "ftrace_regs_caller",     "ftrace_regs_caller_op_ptr",
        "ftrace_regs_call",  "ftrace_regs_caller_jmp", "ftrace_regs_caller_end",
    };
    return is_static_call(name) || std::find(std::begin(copied), std::end(copied), name) != std::end(copied);
}

bool is_part_of_function(std::string_view name) {
    return name.starts_with("__pfx_") || name.starts_with("__cfi_") || is_trampoline(name) ||
           name.find('.') != name.npos;
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
    const size_t colon = pattern.find(':');
    const std::string module = colon == pattern.npos ? "" : pattern.substr(0, colon);
    auto found = TRY(symbols.glob(colon == pattern.npos ? pattern : pattern.substr(colon + 1), module));
    const Blacklist blacklist = TRY(Blacklist::read());
    const AddressRange init = init_text(symbols);
    std::erase_if(found, [&](const Symbol& symbol) {
        return is_part_of_function(symbol.name) || init.has(symbol.addr) || blacklist.covers(symbol.addr);
    });
    std::stable_sort(found.begin(), found.end(), [](const Symbol& a, const Symbol& b) {
        return std::tie(a.module, a.name, a.addr) < std::tie(b.module, b.name, b.addr);
    });
    return found;
}

Result<std::vector<AddressRange>> forbidden_ranges(Kallsyms& symbols, const Blacklist& blacklist,
                                                   const Symbol& function, uint64_t size) {
    std::vector<AddressRange> out;
    const uint64_t end = function.addr + size;
    for (const BlacklistRange& range : blacklist.ranges())
        if (range.begin < end && range.end > function.addr) out.push_back({range.begin, range.end});
    const size_t dot = function.name.find('.');
    if (!out.empty() || dot == 0 || dot == function.name.npos) return out;
    for (const Symbol& whole : TRY(symbols.find(function.name.substr(0, dot), "vmlinux")))
        if (blacklist.covers(whole.addr)) out.push_back({function.addr, end});
    return out;
}

}  // namespace kpl
