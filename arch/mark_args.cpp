// SPDX-License-Identifier: MIT
#include "arch/mark_args.hpp"

#include <fmt/format.h>

#include <charconv>

#include "arch/arch.hpp"

namespace kpl {
namespace {

// Up to a blank that is in no brackets: "[sp, 16]" is one operand.
std::string_view take_word(std::string_view& text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    int depth = 0;
    size_t end = 0;
    for (; end < text.size() && (text[end] != ' ' || depth > 0); end++) {
        if (text[end] == '[' || text[end] == '(') depth++;
        if (text[end] == ']' || text[end] == ')') depth--;
    }
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    return word;
}

// "-4": signed, 4 bytes.
bool parse_size(std::string_view text, MarkArg& arg) {
    arg.is_signed = text.starts_with('-');
    if (arg.is_signed) text.remove_prefix(1);
    if (text != "1" && text != "2" && text != "4" && text != "8") return false;
    arg.size = static_cast<uint8_t>(text[0] - '0');
    return true;
}

// The number as the argument's type has it.
int64_t narrowed(const MarkArg& arg) {
    const unsigned up = 64 - 8 * arg.size;
    const uint64_t bits = static_cast<uint64_t>(arg.number) << up;
    return arg.is_signed ? static_cast<int64_t>(bits) >> up : static_cast<int64_t>(bits >> up);
}

bool is_symbol(std::string_view text) {
    const auto fits = [](char c, bool first) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (!first && ((c >= '0' && c <= '9') || c == '.' || c == '$'));
    };
    for (size_t i = 0; i < text.size(); i++)
        if (!fits(text[i], i == 0)) return false;
    return !text.empty();
}

bool parse_magnitude(std::string_view text, uint64_t& value) {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    return error == std::errc() && stopped == end;
}

}  // namespace

bool parse_sum(std::string_view text, int64_t& number, std::string& symbol) {
    uint64_t sum = 0;
    if (text.empty()) return false;
    for (bool first = true; !text.empty(); first = false) {
        const bool minus = text[0] == '-';
        if (minus || text[0] == '+')
            text.remove_prefix(1);
        else if (!first)
            return false;
        const std::string_view term = text.substr(0, text.find_first_of("+-"));
        text.remove_prefix(term.size());
        uint64_t value = 0;
        if (parse_magnitude(term, value))
            sum += minus ? 0 - value : value;
        else if (!minus && symbol.empty() && is_symbol(term))
            symbol = term;
        else
            return false;
    }
    number = static_cast<int64_t>(sum);
    return true;
}

std::vector<MarkArg> parse_mark_args(const Arch& arch, std::string_view text) {
    std::vector<MarkArg> args;
    for (std::string_view word; !(word = take_word(text)).empty();) {
        MarkArg arg;
        arg.text = word;
        const size_t at = word.find('@');  // without a size, it is a long
        const bool sized = at == word.npos || parse_size(word.substr(0, at), arg);
        if (!sized || !arch.mark_operand(at == word.npos ? word : word.substr(at + 1), arg))
            arg.in = MarkArg::In::Nowhere;
        if (arg.in == MarkArg::In::Number) arg.number = narrowed(arg);
        args.push_back(std::move(arg));
    }
    return args;
}

std::string mark_arg_type(const MarkArg& arg) {
    if (arg.in == MarkArg::In::Nowhere) return arg.text;
    return fmt::format("{}int{}_t", arg.is_signed ? "" : "u", 8 * arg.size);
}

}  // namespace kpl
