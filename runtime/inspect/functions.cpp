// SPDX-License-Identifier: MIT
#include "inspect/functions.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "symbols/target_text.hpp"

namespace kpl {

namespace {

enum Rule {
#define RULE(rule, which, why) rule,
#define PLACE(rule, match, name)
#include "uapi/places.def"
#undef RULE
#undef PLACE
};

// Each with what those before it refuse.
enum Which { RETURNS, PROBES, ALL };
enum Match { WHOLE, BEGINS };

struct NamedRule {
    Which which;
    std::string_view why;
};

constexpr NamedRule named_rules[] = {
#define RULE(rule, which, why) {which, why},
#define PLACE(rule, match, name)
#include "uapi/places.def"
#undef RULE
#undef PLACE
};

struct NamedPlace {
    Rule rule;
    Match match;
    std::string_view name;
};

constexpr NamedPlace named_places[] = {
#define RULE(rule, which, why)
#define PLACE(rule, match, name) {rule, match, name},
#include "uapi/places.def"
#undef RULE
#undef PLACE
};

// A target may name all functions of the kernel.
struct NamedPlaces {
    std::unordered_map<std::string_view, Rule> whole;
    std::vector<NamedPlace> beginnings;

    NamedPlaces() {
        for (const NamedPlace& place : named_places)
            if (place.match == WHOLE)
                whole.emplace(place.name, place.rule);
            else
                beginnings.push_back(place);
    }
};

// The rule that names the function, if one does.
std::optional<Rule> rule_of(std::string_view name) {
    static const NamedPlaces places;
    if (const auto found = places.whole.find(name.substr(0, name.find('.'))); found != places.whole.end())
        return found->second;
    for (const NamedPlace& place : places.beginnings)
        if (name.starts_with(place.name)) return place.rule;
    return std::nullopt;
}

// The rule's reason, if one names the function and it is, or is not, about returns alone.
std::string_view why_not(bool returns_alone, std::string_view name) {
    const auto rule = rule_of(name);
    return rule && (named_rules[*rule].which == RETURNS) == returns_alone ? named_rules[*rule].why : std::string_view();
}

}  // namespace

bool is_cold_part(std::string_view name) { return name.ends_with(".cold") || name.find(".cold.") != name.npos; }

bool is_static_call(std::string_view name) { return name.starts_with("__SCT__"); }

std::string_view why_no_probe(std::string_view name) { return why_not(false, name); }

bool takes_ftrace_alone(std::string_view name) {
    const auto rule = rule_of(name);
    return rule && named_rules[*rule].which == PROBES && named_rules[*rule].why.empty();
}

std::string_view why_no_return(std::string_view name) {
    return is_cold_part(name) ? "it is a part of a function, which jumps to it; probe the function"
                              : why_not(true, name);
}

bool is_part_of_function(std::string_view name) {
    return name.starts_with("__pfx_") || name.starts_with("__cfi_") || rule_of(name) == REWRITTEN ||
           name.starts_with('.') || is_cold_part(name);
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
