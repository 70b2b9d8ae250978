// SPDX-License-Identifier: MIT
// In which order the blocks of a handler stand in the program, and what loops are around each.
#pragma once

#include <vector>

#include "ir/ir.hpp"

namespace kpl {

struct BlockOrder {
    std::vector<ir::BlockId> blocks;  // reachable ones; loops are contiguous, but for what is cold
    std::vector<uint32_t> depth;      // by block: loops around it
    std::vector<bool> cold;           // by block: it leads only to stops; these stand last
    std::vector<ir::BlockId> idom;    // by block: its immediate dominator; of the entry: itself
};

BlockOrder order_blocks(const ir::Function& function);

// f(BlockId) for each successor of the block.
template <class F>
void for_each_successor(const ir::Block& block, F f) {
    if (const auto* jump = std::get_if<ir::Jump>(&block.end)) f(jump->to);
    if (const auto* branch = std::get_if<ir::Branch>(&block.end)) {
        f(branch->yes);
        f(branch->no);
    }
}

}  // namespace kpl
