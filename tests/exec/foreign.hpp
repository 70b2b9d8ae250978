// SPDX-License-Identifier: MIT
// eBPF programs of others, made into handlers: they get memory and its length in r1 and r2, or
// after struct pt_regs in r2 and r3, and know no labels.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "handler.hpp"
#include "holds.hpp"

namespace kpl::exec {

// Pairs of hex digits; 0x before them and space between them are allowed. Errors name `what`.
Result<std::vector<uint8_t>> bytes_from_hex(std::string_view what, std::string_view text);

// What the program does stays the same; passes.hpp says what becomes of its instructions. Where the verifier refuses a
// sum with a pointer, or a pointer that is not always the same, the program is unfolded; where it refuses an access
// that is not aligned, the memory lies at another offset, or else the access is split. Of one that is refused all the
// same, unfolded or not, that is returned of which the verifier takes more. An error: a jump leaves the program, a
// register does not exist, an access reaches beyond the memory, calls or the stacks of its own functions are too many,
// or a handler would be too long. `with.as_is`: nothing of this, for the verifier to judge.
Result<Handler> handler_from(std::span<const uint8_t> program, const Given& with);

}  // namespace kpl::exec
