// SPDX-License-Identifier: MIT
#include "symbols/target_text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace kpl {
namespace {

bool is_hex(std::string_view text) { return text.starts_with("0x") || text.starts_with("0X"); }

}  // namespace

std::optional<uint64_t> parse_number(std::string_view text) {
    const int base = is_hex(text) ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<uint64_t> parse_address(std::string_view text) {
    return is_hex(text) ? parse_number(text) : std::nullopt;
}

Result<TargetText> parse_target(const std::string& text) {
    TargetText target;
    std::string_view rest = text;
    if (const auto colon = rest.find(':'); colon != rest.npos) {
        target.module = rest.substr(0, colon);
        if (target.module.empty()) return Error{Errc::script, fmt::format("target '{}' names no module", text)};
        rest.remove_prefix(colon + 1);
    }
    const auto plus = rest.find('+');
    target.symbol = rest.substr(0, plus);
    if (target.symbol.empty()) return Error{Errc::script, fmt::format("target '{}' names no symbol", text)};
    if (plus == rest.npos) return target;
    const auto offset = parse_number(rest.substr(plus + 1));
    if (!offset)
        return Error{Errc::script,
                     fmt::format("target '{}': the offset '{}' is not a number", text, rest.substr(plus + 1))};
    target.offset = *offset;
    return target;
}

}  // namespace kpl
