// SPDX-License-Identifier: MIT
// In which order the blocks of a handler stand in the program, and what loops are around each.
#pragma once

#include <vector>

#include "ir/ir.hpp"

namespace kpl {

struct BlockOrder {
    std::vector<ir::BlockId>
        blocks;                     // the IR's order, but ways back stand where they begin, and what is cold comes last
    std::vector<uint32_t> depth;    // by block: loops around it
    std::vector<bool> cold;         // by block: it leads only to stops
    std::vector<ir::BlockId> idom;  // by block: its immediate dominator; of the entry: itself
};

BlockOrder find_order(const ir::Function& function);

}  // namespace kpl
