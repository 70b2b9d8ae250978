// SPDX-License-Identifier: MIT
// The basic blocks of a Lua function's bytecode, in reverse post order, and which slots are live where.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "bytecode/flow.hpp"

namespace kpl::builder {

using SlotSet = std::bitset<256>;

struct BasicBlock {
    uint32_t first = 0, last = 0;  // pcs, both included; the JMP of a comparison belongs to the comparison
    std::vector<uint32_t> succs, preds;
    uint32_t order = 0;  // place in Cfg::order
    bool reachable = false;
    bool loop_head = false;  // a block that comes later in the order jumps here
    SlotSet live_in;
    SlotSet assigned;  // loop heads: slots that the loop assigns
};

struct Cfg {
    std::vector<BasicBlock> blocks;
    std::vector<uint32_t> order;     // reachable blocks, reverse post order
    std::vector<uint32_t> block_of;  // by pc: the block that starts there, or ~0
};

Cfg make_cfg(const Proto& proto);

}  // namespace kpl::builder
