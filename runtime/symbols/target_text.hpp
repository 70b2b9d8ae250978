// SPDX-License-Identifier: MIT
// How people write a place in the kernel: "symbol", "symbol+0x1a", "symbol+26", "module:symbol", "0xffffffff81234567".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace kpl {

struct TargetText {
    std::string module, symbol;  // module is empty where the text names none
    uint64_t offset = 0;
};

// Everything but an address.
Result<TargetText> parse_target(const std::string& text);

// "0x1a", or "26"; nullopt: anything else, or over 64 bits.
std::optional<uint64_t> parse_number(std::string_view text);
// The same, of "0x…" alone: "26" may be a name.
std::optional<uint64_t> parse_address(std::string_view text);

}  // namespace kpl
