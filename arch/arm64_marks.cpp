// SPDX-License-Identifier: MIT
// Operands of arm64.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "arch/rows.hpp"

namespace kpl {
namespace {

// "x0" and "w0" to "x30", "sp": where it is, and how wide.
std::optional<std::pair<uint16_t, uint8_t>> register_of(std::string_view text) {
    if (text == "sp") return std::pair(arm64.sp, uint8_t{8});
    if (text.size() < 2 || (text[0] != 'x' && text[0] != 'w')) return std::nullopt;
    const auto offset = arm64.reg("x" + std::string(text.substr(1)));
    if (!offset) return std::nullopt;
    return std::pair(*offset, static_cast<uint8_t>(text[0] == 'x' ? 8 : 4));
}

bool parse_number(std::string_view text, int64_t& number) {
    std::string symbol;
    if (text.starts_with('#')) text.remove_prefix(1);
    return parse_sum(text, number, symbol) && symbol.empty();
}

std::string_view take_part(std::string_view& text) {
    const size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
}

// "x0", "sp, 16", "x0, #-8", "x0, x1", "x0, x1, lsl 3"
bool parse_memory(std::string_view text, MarkArg& arg) {
    const auto base = register_of(take_part(text));
    if (!base || base->second != 8) return false;
    arg.base = base->first;
    if (text.empty()) return true;
    const std::string_view second = take_part(text);
    const auto index = register_of(second);
    if (!index) return text.empty() && parse_number(second, arg.number);
    if (index->second != 8) return false;
    arg.index = index->first;
    arg.scale = 1;
    if (text.empty()) return true;
    std::string_view shift = take_part(text);
    int64_t by = 0;
    if (!shift.starts_with("lsl ") || !parse_number(shift.substr(4), by) || by < 0 || by > 3) return false;
    arg.scale = static_cast<uint8_t>(1 << by);
    return text.empty();
}

}  // namespace

bool arm64_mark_operand(std::string_view text, MarkArg& arg) {
    if (const auto part = register_of(text)) {
        arg.in = MarkArg::In::Register;
        arg.base = part->first;
        arg.size = std::min(arg.size, part->second);
        return true;
    }
    if (text.starts_with('[') && text.ends_with(']')) {
        arg.in = MarkArg::In::Memory;
        return parse_memory(text.substr(1, text.size() - 2), arg);
    }
    arg.in = MarkArg::In::Number;
    if (text == "xzr" || text == "wzr") return true;
    return parse_number(text, arg.number);
}

}  // namespace kpl
