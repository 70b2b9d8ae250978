// SPDX-License-Identifier: MIT
#include "simulator/lexer.hpp"

#include <cctype>
#include <charconv>
#include <string>

namespace kpl::assembly {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

// The longest operator that `text` starts with; those of signed operations start with the letter s.
size_t operator_length(std::string_view text) {
    static constexpr std::string_view operators[] = {
        "s>>=", "s>>", "s>=", "s<=", "s>", "s<", "<<=", ">>=", "==", "!=",
        ">=",   "<=",  "+=",  "-=",  "*=", "/=", "%=",  "|=",  "&=", "^=",
    };
    for (std::string_view op : operators)
        if (text.starts_with(op)) return op.size();
    return 0;
}

}  // namespace

void Lexer::advance() {
    size_t start = rest_.find_first_not_of(" \t\r");
    if (start == rest_.npos || rest_[start] == ';') {
        rest_ = token_ = {};
        return;
    }
    rest_.remove_prefix(start);
    size_t length = operator_length(rest_);
    if (length == 0)
        while (length < rest_.size() && is_word(rest_[length])) length++;
    if (length == 0) length = 1;
    token_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
}

Error Lexer::error(std::string text) const {
    if (token_.empty())
        text += ", found the end of the line";
    else
        text += ", found '" + std::string(token_) + "'";
    return {Errc::script, std::move(text), {"asm", number_}};
}

Result<void> Lexer::expect(std::string_view text) {
    if (!accept(text)) return error("expected '" + std::string(text) + "'");
    return {};
}

Result<int64_t> Lexer::number() {
    bool negative = accept("-");
    if (!negative) accept("+");
    std::string_view digits = token_;
    int base = 10;
    if (digits.starts_with("0x")) {
        digits.remove_prefix(2);
        base = 16;
    }
    uint64_t value = 0;
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (code != std::errc{} || end != digits.data() + digits.size()) return error("expected a number");
    advance();
    return static_cast<int64_t>(negative ? -value : value);
}

Result<int64_t> Lexer::number(int64_t low, int64_t high) {
    Lexer before = *this;
    int64_t value = TRY(number());
    if (value < low || value > high)
        return before.error("expected a number from " + std::to_string(low) + " to " + std::to_string(high));
    return value;
}

}  // namespace kpl::assembly
