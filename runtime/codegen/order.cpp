// SPDX-License-Identifier: MIT
#include "codegen/order.hpp"

#include "ir/visit.hpp"

namespace kpl {
namespace {

using ir::BlockId;

// A loop is what reaches its backward jumps from its head. Blocks before the head don't belong to it.
void count_loop(const ir::Function& function, BlockId head, std::vector<uint32_t>& depth) {
    std::vector<bool> member(function.blocks.size());
    std::vector<BlockId> work;
    for (BlockId pred : function.blocks[head].preds)
        if (pred >= head) work.push_back(pred);
    if (work.empty()) return;
    member[head] = true;
    depth[head]++;
    while (!work.empty()) {
        BlockId block = work.back();
        work.pop_back();
        if (member[block]) continue;
        member[block] = true;
        depth[block]++;
        for (BlockId pred : function.blocks[block].preds)
            if (pred > head) work.push_back(pred);
    }
}

std::vector<bool> find_cold(const ir::Function& function) {
    std::vector<bool> cold(function.blocks.size());
    for (auto block = static_cast<BlockId>(function.blocks.size()); block-- > 1;) {
        const ir::Terminator& end = function.blocks[block].end;
        bool leads_to_stops = !std::holds_alternative<ir::Return>(end);
        ir::for_each_successor(end, [&](BlockId to) { leads_to_stops = leads_to_stops && to > block && cold[to]; });
        cold[block] = leads_to_stops;
    }
    return cold;
}

// A block that only leads back from its one predecessor: a repetition pays for all that stands between it and the
// loop's head, so it stands behind that predecessor.
bool leads_back(const ir::Function& function, BlockId block) {
    const ir::Block& b = function.blocks[block];
    const auto* jump = std::get_if<ir::Jump>(&b.end);
    return jump && b.preds.size() == 1 && b.preds[0] < block && jump->to <= b.preds[0];
}

std::vector<BlockId> lay_out(const ir::Function& function, const std::vector<bool>& cold) {
    std::vector<std::vector<BlockId>> behind(function.blocks.size());
    for (BlockId block = 0; block < function.blocks.size(); block++)
        if (leads_back(function, block)) behind[function.blocks[block].preds[0]].push_back(block);
    std::vector<BlockId> blocks;
    for (bool which : {false, true})
        for (BlockId block = 0; block < function.blocks.size(); block++) {
            if (cold[block] != which || leads_back(function, block)) continue;
            blocks.push_back(block);
            blocks.insert(blocks.end(), behind[block].begin(), behind[block].end());
        }
    return blocks;
}

}  // namespace

BlockOrder find_order(const ir::Function& function) {
    BlockOrder order;
    order.depth.resize(function.blocks.size());
    for (BlockId block = 0; block < function.blocks.size(); block++) count_loop(function, block, order.depth);
    order.cold = find_cold(function);
    order.blocks = lay_out(function, order.cold);
    order.idom = ir::dominators(function);
    return order;
}

}  // namespace kpl
