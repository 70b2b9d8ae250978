// SPDX-License-Identifier: MIT
#include "session/targets.hpp"

#include <fmt/format.h>

#include <optional>
#include <unordered_set>

#include "hints/other_tracers.hpp"
#include "inspect/functions.hpp"
#include "inspect/modules.hpp"
#include "symbols/target_text.hpp"

namespace kpl {
namespace {

bool is_text(const Symbol& symbol) {
    return symbol.kind == 't' || symbol.kind == 'T' || symbol.kind == 'w' || symbol.kind == 'W';
}

bool is_glob(const std::string& symbol) { return symbol.find_first_of("*?[") != std::string::npos; }

KernelPlace place_of(const Symbol& symbol, uint64_t offset) {
    return {symbol.name, symbol.module, symbol.addr + offset, symbol.addr, offset};
}

// Whether a handler of it names parameters of the probed function.
bool names_parameters(const ProbeDecl& probe) {
    const uint32_t own = probe_kind(probe.kind).mirrors ? 0 : 1;  // p
    if (!probe.handlers[0]) return false;
    const auto proto = probe.handlers[0]->proto();
    return proto && (*proto)->num_params > own;
}

// Of one name, in one part of the kernel, at two places.
bool are_namesakes(const Symbol& a, const Symbol& b) {
    return a.addr != b.addr && a.name == b.name && a.module == b.module;
}

// One resolution under way.
struct Resolver {
    const ProbeDecl& probe;
    Kallsyms& symbols;
    const BlacklistOnDemand& blacklist;
    std::optional<AddressRange>& start_up;
    Resolved& result;

    // Only by globs: what is asked for by name, the kernel itself refuses, with its reason.
    Result<void> offer(const Symbol& symbol, uint64_t offset, bool shares_name) {
        KernelPlace place = place_of(symbol, offset);
        place.by_glob = true;
        place.shares_name = shares_name;
        if (!start_up) start_up = init_text(symbols);
        const Blacklist* list = blacklist.get();
        if (is_part_of_function(symbol.name))
            result.left_out.parts++;
        else if (start_up->has(place.address))
            result.left_out.freed++;
        else if ((list && TRY(is_forbidden(symbols, *list, symbol, place.address))) || !check_probeable(symbol))
            result.left_out.blacklisted++;
        else if (is_variant(symbol.name) && names_parameters(probe))
            result.left_out.variants++;
        else
            result.places.push_back(std::move(place));
        return {};
    }

    // What the kernel, or ftrace, would not refuse, and no probe may stand in all the same.
    Result<void> check_probeable(const Symbol& symbol) {
        const std::string_view no_return = why_no_return(symbol.name);
        if (probe_kind(probe.kind).follows_calls && !no_return.empty())
            return Error{Errc::script, fmt::format("can't probe the return of {}: {}", symbol.name, no_return)};
        const Blacklist* list = is_variant(symbol.name) ? blacklist.get() : nullptr;
        const bool forbidden = list && TRY(is_forbidden(symbols, *list, symbol, symbol.addr));
        const std::string_view no_probe =
            forbidden ? "the kernel's blacklist forbids the function that it was made of" : why_no_probe(symbol.name);
        if (no_probe.empty()) return {};
        return Error{Errc::script, fmt::format("can't probe {}: {}", symbol.name, no_probe)};
    }
};

// A place of the kernel's memory that several targets name is probed once.
void drop_repeated(Resolved& resolved) {
    std::unordered_set<uint64_t> seen;
    seen.reserve(resolved.places.size());
    std::erase_if(resolved.places, [&](const KernelPlace& place) {
        const bool again = place.address >> 63 && !seen.insert(place.address).second;
        resolved.left_out.repeated += again && place.by_glob;
        return again;
    });
}

// Nothing: it is loaded, and has no such function.
std::optional<std::string> why_not_in_module(const std::string& module, const std::string& symbol, Kallsyms& symbols) {
    if (module.empty() || module == "vmlinux" || is_loaded(module)) return std::nullopt;
    if (is_built_in(module)) {
        const auto found = symbols.glob(symbol, "vmlinux");
        return fmt::format("{} is built into this kernel, and no module of its own: {}", module,
                           found && !found->empty() ? fmt::format("write '{}'", symbol)
                                                    : fmt::format("it has no function '{}'", symbol));
    }
    return fmt::format("the module {} is not loaded (modprobe {})", module, module);
}

Error unknown(const std::string& text, const TargetText& spec, Kallsyms& symbols) {
    if (const auto theirs = foreign_target(text))
        return {Errc::script, fmt::format("no function '{}': {}", text, *theirs)};
    if (const auto why = why_not_in_module(spec.module, spec.symbol, symbols))
        return {Errc::script, fmt::format("'{}': {}", text, *why)};
    std::string message = fmt::format("no function '{}' in this kernel", text);
    auto near = symbols.near(spec.symbol);
    message += near && !near->empty() ? fmt::format("; near to it: {}", fmt::join(*near, ", "))
                                      : "; if its source has one, the compiler inlined it: probe what calls it";
    return {Errc::script, message};
}

Error several_variants(const std::string& text, const TargetText& spec, const std::vector<Symbol>& found) {
    std::string list;
    for (const Symbol& one : found) list += fmt::format("{}{}", list.empty() ? "" : ", ", target_name(one));
    return {Errc::script,
            fmt::format("no function '{}' in this kernel, but {} that the compiler made from it: {}; name one of them, "
                        "or all as '{}.*'",
                        text, found.size(), list, spec.symbol)};
}

// The only function that the compiler made of the one that is asked for, if that one is not there itself. Nothing:
// there is no such function at all.
Result<std::optional<Symbol>> only_variant(const std::string& text, const TargetText& spec, Resolver& r) {
    const auto variants = TRY(variants_of(r.symbols, spec.symbol, spec.module));
    if (variants.empty()) return std::optional<Symbol>();
    if (variants.size() > 1) return several_variants(text, spec, variants);
    r.result.notes.push_back(
        {Errc::script,
         fmt::format("'{}' is {} in this kernel: the compiler made it from that function, and may have "
                     "dropped parameters; p.arg[n] is what the registers hold",
                     text, variants[0].name),
         r.probe.at});
    return std::optional(variants[0]);
}

Error ambiguous(const std::string& text, const std::vector<Symbol>& found) {
    std::string list;
    for (const Symbol& s : found)
        list +=
            fmt::format("{}{:#x}{}", list.empty() ? "" : ", ", s.addr, s.module.empty() ? "" : " [" + s.module + "]");
    return {Errc::script, fmt::format("'{}' stands for {} functions: {}; give the address, or module:symbol", text,
                                      found.size(), list)};
}

Result<void> check_offset(const std::string& text, const TargetText& spec, const Symbol& function, Kallsyms& symbols) {
    const uint64_t end = TRY(symbols.next(function.addr));
    if (!end || function.addr + spec.offset < end) return {};
    return Error{Errc::script,
                 fmt::format("'{}' is behind the function, which has {:#x} bytes", text, end - function.addr)};
}

Result<void> resolve_glob(const std::string& text, const TargetText& spec, Resolver& r) {
    const auto found = TRY(r.symbols.glob(spec.symbol, spec.module));
    if (found.empty()) {
        if (const auto theirs = foreign_target(text))
            return Error{Errc::script, fmt::format("no function '{}': {}", text, *theirs)};
        if (const auto why = why_not_in_module(spec.module, spec.symbol, r.symbols))
            return Error{Errc::script, fmt::format("'{}': {}", text, *why)};
    }
    std::vector<std::string> wholes;  // that is_forbidden() asks for
    for (const Symbol& symbol : found)
        if (is_variant(symbol.name)) wholes.push_back(symbol.name.substr(0, symbol.name.find('.')));
    r.symbols.expect(std::move(wholes));
    const size_t before = r.result.places.size();
    if (before == 0) r.result.places.reserve(found.size());
    for (size_t i = 0; i < found.size(); i++) {  // by name
        const bool shares_name = (i > 0 && are_namesakes(found[i], found[i - 1])) ||
                                 (i + 1 < found.size() && are_namesakes(found[i], found[i + 1]));
        TRY(r.offer(found[i], spec.offset, shares_name));
    }
    if (r.result.places.size() != before) return {};
    const std::string why = r.result.left_out.text();
    return Error{Errc::script, why.empty() ? fmt::format("no function matches '{}'", text)
                                           : fmt::format("no function that matches '{}' can be probed: {}", text, why)};
}

Result<void> resolve_name(const std::string& text, Resolver& r) {
    const auto parsed = parse_target(text);
    if (const auto theirs = parsed ? std::nullopt : foreign_target(text))
        return Error{Errc::script, fmt::format("no function '{}': {}", text, *theirs)};
    const TargetText spec = TRY(parsed);
    if (is_glob(spec.symbol)) return resolve_glob(text, spec, r);
    auto found = TRY(r.symbols.find(spec.symbol, spec.module));
    if (found.empty())
        if (const auto variant = TRY(only_variant(text, spec, r))) found.push_back(*variant);
    if (found.empty()) return unknown(text, spec, r.symbols);
    if (found.size() > 1) return ambiguous(text, found);
    TRY(r.check_probeable(found[0]));
    if (spec.offset) TRY(check_offset(text, spec, found[0], r.symbols));
    r.result.places.push_back(place_of(found[0], spec.offset));
    return {};
}

Result<void> resolve_address(uint64_t address, Resolver& r) {
    const Symbol symbol = TRY(r.symbols.at(address));
    if (symbol.name.empty() || !is_text(symbol))
        return Error{Errc::script, fmt::format("no function of this kernel covers the address {:#x}", address)};
    TRY(r.check_probeable(symbol));
    r.result.places.push_back(place_of(symbol, address - symbol.addr));
    for (const Symbol& other : TRY(r.symbols.find(symbol.name, symbol.module.empty() ? "vmlinux" : symbol.module)))
        r.result.places.back().shares_name |= are_namesakes(symbol, other);
    return {};
}

// A name that this kernel does not have is wrong even where addresses are hidden from us.
Result<void> resolve_unaddressed(const std::string& text, Resolver& r) {
    const TargetText spec = TRY(parse_target(text));
    const auto found = r.symbols.find(spec.symbol, spec.module);
    std::string name = spec.symbol;
    if (found && found->empty() && !is_glob(spec.symbol)) {
        const auto variant = TRY(only_variant(text, spec, r));
        if (!variant) return unknown(text, spec, r.symbols);
        name = variant->name;
    }
    r.result.places.push_back({name, spec.module, 0, 0, spec.offset});
    return {};
}

}  // namespace

std::vector<std::string> plain_names(std::span<const Target> targets) {
    std::vector<std::string> names;
    for (const Target& target : targets) {
        const auto* text = std::get_if<std::string>(&target);
        if (!text || parse_address(*text)) continue;
        if (auto spec = parse_target(*text); spec && !is_glob(spec->symbol)) names.push_back(std::move(spec->symbol));
    }
    return names;
}

std::string KernelPlace::text() const {
    if (const std::string& shown = special->shown; !shown.empty())
        return shown + (special->way && special->way->compat ? " (32-bit)" : "");
    std::string text = module->empty() ? function : *module + ":" + function;
    if (offset) text += fmt::format("+{:#x}", offset);
    return text;
}

std::string LeftOut::text() const {
    const std::pair<uint32_t, const char*> reasons[] = {
        {blacklisted, "blacklisted"},
        {freed, "freed after boot"},
        {untraceable, "not traceable by ftrace"},
        {refused, "refused by the kernel"},
        {chosen, "chosen when a program starts (IFUNC)"},
        {variants, "without known parameters (name none, and use p.arg[n])"},
        {repeated, "other names of these"},
        {parts, "parts of functions"},
    };
    std::string text;
    for (const auto& [n, reason] : reasons)
        if (n) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, reason);
    return text;
}

Result<Resolved> resolve_each(const ProbeDecl& probe,
                              const std::function<Result<void>(const Target&, Resolved&)>& one) {
    Resolved resolved;
    ErrorRound errors;
    resolved.places.reserve(probe.targets.size());
    for (const Target& target : probe.targets) {
        Result<void> done = one(target, resolved);
        if (done) continue;
        Error error = std::move(done).error();
        if (error.code != Errc::script) return error;
        error.at = probe.at;
        if (probe.optional)
            resolved.missing.push_back(std::move(error));
        else
            errors.add(error);
    }
    if (!errors.empty()) return errors.error();
    drop_repeated(resolved);
    return resolved;
}

Result<Resolved> resolve_targets(const ProbeDecl& probe, Kallsyms& symbols, const BlacklistOnDemand& blacklist,
                                 bool addresses) {
    std::optional<AddressRange> start_up;
    if (addresses) symbols.expect(plain_names(probe.targets));
    auto resolved = resolve_each(probe, [&](const Target& target, Resolved& resolved) -> Result<void> {
        Resolver r{probe, symbols, blacklist, start_up, resolved};
        const auto* name = std::get_if<std::string>(&target);
        const auto address = name ? parse_address(*name) : std::optional(std::get<uint64_t>(target));
        if (!address) return addresses ? resolve_name(*name, r) : resolve_unaddressed(*name, r);
        return addresses ? resolve_address(*address, r) : Result<void>();
    });
    symbols.expect_no_more();
    return resolved;
}

}  // namespace kpl
