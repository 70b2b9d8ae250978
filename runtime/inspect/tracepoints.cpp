// SPDX-License-Identifier: MIT
// Each tracepoint leaves two symbols: the function that calls what is attached, and BPF's entry, which says
// how many arguments it passes. Neither knows the group that people name it by.
#include "inspect/tracepoints.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "inspect/debugfs.hpp"
#include "symbols/glob.hpp"
#include "symbols/nearest.hpp"

namespace kpl {
namespace {

constexpr std::string_view entry_prefix = "__bpf_trace_tp_map_", caller_prefix = "__traceiter_";

struct Pattern {
    std::string group, name;  // group is empty where the text names none
};

Pattern parse(const std::string& text) {
    const size_t colon = text.find(':');
    return colon == text.npos ? Pattern{"", text} : Pattern{text.substr(0, colon), text.substr(colon + 1)};
}

bool is_glob(const std::string& text) { return text.find_first_of("*?[") != text.npos; }

bool in_group(const Pattern& wanted, const Tracepoint& one) {
    return wanted.group.empty() || wanted.group == "*" || glob_match(wanted.group, one.group);
}

}  // namespace

Result<void> Tracepoints::load_groups() {
    if (!groups_read_) {
        groups_read_ = true;
        if (auto events = read_events(events_))
            for (auto& [group, name] : *events) groups_.emplace(std::move(name), std::move(group));
        else
            no_groups_ = events.error();
    }
    if (no_groups_) return *no_groups_;
    return {};
}

// The kernel's own events stand before those that people have added.
std::string Tracepoints::group_of(const std::string& name) const {
    const auto found = groups_.lower_bound(name);
    return found != groups_.end() && found->first == name ? found->second : "";
}

Result<void> Tracepoints::load_all(Kallsyms& symbols) {
    if (!all_.empty()) return {};
    std::unordered_map<std::string, uint64_t> callers;
    for (const Symbol& symbol : TRY(symbols.beginning(caller_prefix)))
        callers.emplace(symbol.name.substr(caller_prefix.size()), symbol.addr);
    for (const Symbol& symbol : TRY(symbols.beginning(entry_prefix))) {
        Tracepoint one{"", symbol.name.substr(entry_prefix.size()), symbol.module, symbol.addr};
        if (const auto caller = callers.find(one.name); caller != callers.end()) one.caller = caller->second;
        one.group = group_of(one.name);
        all_.push_back(std::move(one));
    }
    std::sort(all_.begin(), all_.end(), [](const Tracepoint& a, const Tracepoint& b) {
        return std::tie(a.group, a.name) < std::tie(b.group, b.name);
    });
    return {};
}

// Of the kernel itself, without reading all of its symbols.
Result<std::vector<Tracepoint>> Tracepoints::find_one(const std::string& name, Kallsyms& symbols) {
    const auto entry = symbols.address(std::string(entry_prefix) + name);
    if (entry && *entry)
        return std::vector<Tracepoint>{
            {group_of(name), name, "", *entry, TRY(symbols.address(std::string(caller_prefix) + name))}};
    TRY(load_all(symbols));
    std::vector<Tracepoint> found;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(found),
                 [&](const Tracepoint& one) { return one.name == name; });
    return found;
}

Result<std::vector<Tracepoint>> Tracepoints::find(const std::string& pattern, Kallsyms& symbols) {
    const Pattern wanted = parse(pattern);
    const bool groups = load_groups().ok();
    if (!is_glob(wanted.name) && !is_glob(wanted.group)) {
        auto found = TRY(find_one(wanted.name, symbols));
        if (!groups && !wanted.group.empty())
            for (Tracepoint& one : found) one.group = wanted.group;
        std::erase_if(found, [&](const Tracepoint& one) { return !in_group(wanted, one); });
        return found;
    }
    if (!wanted.group.empty()) TRY(load_groups());
    TRY(load_all(symbols));
    std::vector<Tracepoint> found;
    std::copy_if(all_.begin(), all_.end(), std::back_inserter(found),
                 [&](const Tracepoint& one) { return in_group(wanted, one) && glob_match(wanted.name, one.name); });
    return found;
}

Result<std::vector<std::string>> Tracepoints::near(const std::string& pattern, Kallsyms& symbols) {
    (void)load_groups().ok();
    TRY(load_all(symbols));
    const Pattern wanted = parse(pattern);
    Nearest with_group(pattern), alone(wanted.name);
    std::vector<std::string> elsewhere;
    for (const Tracepoint& one : all_) {
        with_group.offer(one.text());
        alone.offer(one.name);
        if (one.name == wanted.name) elsewhere.push_back(one.text());
    }
    if (!elsewhere.empty()) return elsewhere;
    std::vector<std::string> names = with_group.names();
    if (!names.empty()) return names;
    for (std::string& name : names = alone.names())
        if (const std::string group = group_of(name); !group.empty()) name = group + ":" + name;
    return names;
}

}  // namespace kpl
