// SPDX-License-Identifier: MIT
// Who uses each value of a handler, and what is known of its bits.
#pragma once

#include <vector>

#include "ir/ir.hpp"

namespace kpl {

struct Uses {
    uint32_t count = 0;
    // Of the last one found; for the only one when count is 1.
    ir::BlockId block = 0;
    ir::ValueId user = ir::no_value;  // no_value: the block's terminator
    bool in_phi = false;              // at the end of `block`, a predecessor of the phi's
    uint32_t depth = 0;               // loops around the deepest use
};

// `depth`: by block, the loops around it.
std::vector<Uses> find_uses(const ir::Function& function, const std::vector<uint32_t>& depth);

// How many low bits of the value may be set: at most 63 if it is never negative.
uint32_t significant_bits(const ir::Function& function, ir::ValueId value);

}  // namespace kpl
