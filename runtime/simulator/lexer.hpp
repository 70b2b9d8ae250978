// SPDX-License-Identifier: MIT
// Lexer: the tokens of one line of handler assembly.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace kpl::assembly {

class Lexer {
  public:
    // `line` outlives the lexer.
    Lexer(std::string_view line, int number) : rest_(line), number_(number) { advance(); }

    std::string_view peek() const { return token_; }  // empty at the end of the line
    bool at_end() const { return token_.empty(); }

    std::string_view next() {
        std::string_view token = token_;
        advance();
        return token;
    }

    // Consumes the token if it is `text`.
    bool accept(std::string_view text) {
        if (token_ != text) return false;
        advance();
        return true;
    }

    Result<void> expect(std::string_view text);

    // A number with its sign, decimal or 0x…; all 64 bits.
    Result<int64_t> number();
    Result<int64_t> number(int64_t low, int64_t high);

    Error error(std::string text) const;

  private:
    void advance();

    std::string_view rest_, token_;
    int number_;
};

}  // namespace kpl::assembly
