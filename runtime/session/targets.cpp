// SPDX-License-Identifier: MIT
#include "session/targets.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

namespace kpl {
namespace {

struct Spec {
    std::string module, symbol;
    uint64_t offset = 0;
};

Result<Spec> parse(const std::string& text) {
    Spec spec;
    std::string rest = text;
    if (const auto colon = rest.find(':'); colon != std::string::npos) {
        spec.module = rest.substr(0, colon);
        rest = rest.substr(colon + 1);
    }
    const auto plus = rest.find('+');
    spec.symbol = rest.substr(0, plus);
    if (spec.symbol.empty()) return Error{Errc::script, fmt::format("target '{}' names no symbol", text)};
    if (plus == std::string::npos) return spec;
    std::string digits = rest.substr(plus + 1);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits = digits.substr(2);
    const char* end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, spec.offset, hex ? 16 : 10);
    if (digits.empty() || error != std::errc() || at != end)
        return Error{Errc::script, fmt::format("target '{}': the offset '{}' is not a number", text, rest.substr(plus + 1))};
    return spec;
}

// Symbols that are no functions of their own: padding before functions, and parts that the compiler split off. A glob
// leaves them out; by name they can be had.
bool is_function_of_its_own(const std::string& name) {
    return !name.starts_with("__pfx_") && !name.starts_with("__cfi_") && name.find('.') == std::string::npos;
}

bool is_text(const Symbol& symbol) { return symbol.kind == 't' || symbol.kind == 'T' || symbol.kind == 'w' || symbol.kind == 'W'; }

bool is_glob(const std::string& symbol) { return symbol.find_first_of("*?[") != std::string::npos; }

Place place_of(const Symbol& symbol, uint64_t offset) {
    return {symbol.name, symbol.module, symbol.addr + offset, symbol.addr, offset};
}

// A place that several targets name is probed once.
void drop_repeated(std::vector<Place>& places) {
    std::set<uint64_t> seen;
    std::erase_if(places, [&](const Place& place) { return !seen.insert(place.address).second; });
}

Error unknown(const std::string& text, const Spec& spec, Kallsyms& symbols) {
    std::string message = fmt::format("no function '{}' in this kernel", text);
    if (auto near = symbols.near(spec.symbol); near && !near->empty())
        message += fmt::format("; near to it: {}", fmt::join(*near, ", "));
    return {Errc::script, message};
}

Error ambiguous(const std::string& text, const std::vector<Symbol>& found) {
    std::string list;
    for (const Symbol& s : found)
        list += fmt::format("{}{:#x}{}", list.empty() ? "" : ", ", s.addr, s.module.empty() ? "" : " [" + s.module + "]");
    return {Errc::script, fmt::format("'{}' stands for {} functions: {}; give the address, or module:symbol", text,
                                      found.size(), list)};
}

Result<void> resolve_name(const std::string& text, Kallsyms& symbols, std::vector<Place>& places) {
    const Spec spec = TRY(parse(text));
    if (is_glob(spec.symbol)) {
        const auto found = TRY(symbols.glob(spec.symbol, spec.module));
        const size_t before = places.size();
        for (const Symbol& symbol : found)
            if (is_function_of_its_own(symbol.name)) places.push_back(place_of(symbol, spec.offset));
        if (places.size() == before) return Error{Errc::script, fmt::format("no function matches '{}'", text)};
        return {};
    }
    const auto found = TRY(symbols.find(spec.symbol, spec.module));
    if (found.empty()) return unknown(text, spec, symbols);
    if (found.size() > 1) return ambiguous(text, found);
    places.push_back(place_of(found[0], spec.offset));
    return {};
}

Result<void> resolve_address(uint64_t address, Kallsyms& symbols, std::vector<Place>& places) {
    const Symbol symbol = TRY(symbols.at(address));
    if (symbol.name.empty() || !is_text(symbol))
        return Error{Errc::script, fmt::format("no function of this kernel covers the address {:#x}", address)};
    places.push_back(place_of(symbol, address - symbol.addr));
    return {};
}

// A name that this kernel does not have is wrong even where addresses are hidden from us.
Result<void> resolve_unaddressed(const std::string& text, Kallsyms& symbols, std::vector<Place>& places) {
    const Spec spec = TRY(parse(text));
    const auto found = symbols.find(spec.symbol, spec.module);
    if (found && found->empty() && !is_glob(spec.symbol)) return unknown(text, spec, symbols);
    places.push_back({spec.symbol, spec.module, 0, 0, spec.offset});
    return {};
}

}  // namespace

Result<std::vector<Place>> resolve_targets(const ProbeDecl& probe, Kallsyms& symbols, bool addresses) {
    std::vector<Place> places;
    for (const auto& target : probe.targets) {
        const auto* name = std::get_if<std::string>(&target);
        Result<void> done;
        if (name)
            done = addresses ? resolve_name(*name, symbols, places) : resolve_unaddressed(*name, symbols, places);
        else if (addresses)
            done = resolve_address(std::get<uint64_t>(target), symbols, places);
        if (done) continue;
        Error error = std::move(done).error();
        if (error.code == Errc::script) error.at = probe.at;
        return error;
    }
    if (addresses) drop_repeated(places);
    return places;
}

}  // namespace kpl
