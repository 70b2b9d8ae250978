// SPDX-License-Identifier: MIT
#include "inspect/syscalls.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "inspect/functions.hpp"
#include "symbols/glob.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

// Where the source's name is not the one of the table of system calls.
constexpr std::pair<std::string_view, std::string_view> renamed[] = {
    // defined as, called
    {"newfstat", "fstat"}, {"newlstat", "lstat"},      {"newstat", "stat"},
    {"newuname", "uname"}, {"sendfile64", "sendfile"}, {"umount", "umount2"},
};

std::string_view shown_name(std::string_view name) {
    for (const auto& [defined, called] : renamed)
        if (name == defined) return called;
    return name;
}

std::string_view defined_name(std::string_view name) {
    for (const auto& [defined, called] : renamed)
        if (name == called) return defined;
    return name;
}

// What stands in the place of calls that the kernel was built without.
constexpr std::string_view not_there = "ni_syscall";

Result<void> find_way(const std::string& pattern, const SyscallWay& way, Kallsyms& symbols,
                      std::vector<Syscall>& found) {
    const std::string prefix(way.prefix);
    const auto none = TRY(symbols.find(prefix + std::string(not_there)));
    const bool glob = pattern.find_first_of("*?[") != pattern.npos;
    const auto functions =
        TRY(glob ? symbols.beginning(prefix) : symbols.find(prefix + std::string(defined_name(pattern))));
    for (const Symbol& function : functions) {
        const std::string name = function.name.substr(prefix.size()), shown(shown_name(name));
        if (is_part_of_function(function.name) || is_variant(function.name)) continue;
        if (!none.empty() && function.addr && function.addr == none[0].addr) continue;
        if (glob && !glob_match(pattern, name) && !glob_match(pattern, shown)) continue;
        found.push_back({name, shown, function, &way});
    }
    return {};
}

}  // namespace

Result<std::vector<Syscall>> find_syscalls(const std::string& pattern, Kallsyms& symbols) {
    std::vector<Syscall> found;
    for (const SyscallWay& way : host_arch().syscalls) TRY(find_way(pattern, way, symbols, found));
    std::stable_sort(found.begin(), found.end(), [](const Syscall& a, const Syscall& b) { return a.shown < b.shown; });
    return found;
}

Result<std::vector<std::string>> near_syscalls(const std::string& name, Kallsyms& symbols) {
    Nearest nearest(name);
    for (const Syscall& one : TRY(find_syscalls("*", symbols))) nearest.offer(one.shown);
    return nearest.names();
}

}  // namespace kpl
