// SPDX-License-Identifier: MIT
// Operands of x86-64, in AT&T's way of writing them.
#include <algorithm>
#include <optional>

#include "arch/rows.hpp"

namespace kpl {
namespace {

constexpr std::string_view register_names[][5] = {
    // 8, 4, 2 bytes, the low one, the one above
    {"rax", "eax", "ax", "al", "ah"}, {"rbx", "ebx", "bx", "bl", "bh"}, {"rcx", "ecx", "cx", "cl", "ch"},
    {"rdx", "edx", "dx", "dl", "dh"}, {"rsi", "esi", "si", "sil", ""},  {"rdi", "edi", "di", "dil", ""},
    {"rbp", "ebp", "bp", "bpl", ""},  {"rsp", "esp", "sp", "spl", ""},
};
constexpr uint8_t part_sizes[] = {8, 4, 2, 1, 1};

struct Part {
    uint16_t offset;
    uint8_t size, shift = 0;
};

// "%r8d", "%ah"
std::optional<Part> part_of(std::string_view text) {
    if (!text.starts_with('%')) return std::nullopt;
    text.remove_prefix(1);
    for (const auto& row : register_names)
        for (size_t i = 0; i < 5; i++)
            if (text == row[i] && !text.empty())
                return Part{*x86_64.reg(row[0]), part_sizes[i], static_cast<uint8_t>(i == 4 ? 8 : 0)};
    // r8 to r15
    uint8_t size = 8;
    if (!text.empty()) switch (text.back()) {
            case 'd': size = 4; break;
            case 'w': size = 2; break;
            case 'b': size = 1; break;
        }
    if (size != 8) text.remove_suffix(1);
    const auto offset = text.starts_with('r') ? x86_64.reg(text) : std::nullopt;
    const bool numbered = text.size() > 1 && text[1] >= '0' && text[1] <= '9';
    return offset && numbered ? std::optional(Part{*offset, size}) : std::nullopt;
}

bool is_whole(const std::optional<Part>& part) { return part && part->size == 8; }

// "%rsp", "%rsp,%rax", "%rsp,%rax,8", ",%rax,8", "%rip"
bool parse_registers(std::string_view text, MarkArg& arg, bool& has_base) {
    const size_t comma = text.find(',');
    const std::string_view base = text.substr(0, comma);
    has_base = !base.empty();
    if (base == "%rip" && comma == text.npos) {
        arg.base = x86_64.ip;
        return !arg.symbol.empty();
    }
    if (has_base) {
        const auto part = part_of(base);
        if (!is_whole(part)) return false;
        arg.base = part->offset;
    }
    if (comma == text.npos) return has_base && arg.symbol.empty();
    text.remove_prefix(comma + 1);
    const size_t second = text.find(',');
    const auto index = part_of(text.substr(0, second));
    const std::string_view scale = second == text.npos ? "1" : text.substr(second + 1);
    if (!is_whole(index) || index->offset == x86_64.sp) return false;
    if (scale != "1" && scale != "2" && scale != "4" && scale != "8") return false;
    arg.index = index->offset;
    arg.scale = static_cast<uint8_t>(scale[0] - '0');
    // Beside another base, a symbol means its distance from something.
    return has_base ? arg.symbol.empty() : !arg.symbol.empty();
}

}  // namespace

bool x86_mark_operand(std::string_view text, MarkArg& arg) {
    if (text.starts_with('$')) {
        arg.in = MarkArg::In::Number;
        return parse_sum(text.substr(1), arg.number, arg.symbol) && arg.symbol.empty();
    }
    if (const auto part = part_of(text)) {
        arg.in = MarkArg::In::Register;
        arg.base = part->offset;
        arg.shift = part->shift;
        arg.size = std::min(arg.size, part->size);
        return true;
    }
    arg.in = MarkArg::In::Memory;
    const size_t open = text.find('(');
    const std::string_view sum = text.substr(0, open);
    if (!sum.empty() && !parse_sum(sum, arg.number, arg.symbol)) return false;
    bool has_base = false;
    if (open != text.npos) {
        const std::string_view inside = text.substr(open + 1);
        if (!inside.ends_with(')') || !parse_registers(inside.substr(0, inside.size() - 1), arg, has_base))
            return false;
    }
    // Of a program at a fixed address: where it is, is also as far from the mark as ever.
    if (!has_base) arg.base = x86_64.ip;
    return has_base || !arg.symbol.empty();
}

}  // namespace kpl
