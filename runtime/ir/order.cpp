// SPDX-License-Identifier: MIT
// The order of blocks: reverse post order with loops contiguous. The fuel of a backward jump pays for every
// instruction between its target and itself, so what does not belong to a loop must not lie in it.
#include <algorithm>
#include <functional>

#include "ir/ir.hpp"

namespace kpl::ir {

namespace {

std::vector<BlockId> successors(const Block& b) {
    if (const auto* jump = std::get_if<Jump>(&b.end)) return {jump->to};
    if (const auto* branch = std::get_if<Branch>(&b.end)) return {branch->no, branch->yes};
    return {};
}

using Successors = std::function<std::vector<BlockId>(BlockId)>;

std::vector<BlockId> reverse_post_order(size_t count, const Successors& next) {
    struct Visit {
        BlockId block;
        std::vector<BlockId> succs;
        size_t at = 0;
    };
    std::vector<BlockId> order;
    std::vector<bool> seen(count, false);
    std::vector<Visit> stack;
    stack.push_back({0, next(0)});
    seen[0] = true;
    while (!stack.empty()) {
        Visit& v = stack.back();
        if (v.at == v.succs.size()) {
            order.push_back(v.block);
            stack.pop_back();
            continue;
        }
        const BlockId to = v.succs[v.at++];
        if (seen[to]) continue;
        seen[to] = true;
        stack.push_back({to, next(to)});
    }
    std::reverse(order.begin(), order.end());
    return order;
}

// How many loops each block is in: for each backward edge, what reaches its source without passing its
// target.
std::vector<std::vector<BlockId>> loops_of(const Function& f, const std::vector<BlockId>& order) {
    std::vector<size_t> position(f.blocks.size(), SIZE_MAX);
    for (size_t i = 0; i < order.size(); i++) position[order[i]] = i;
    std::vector<std::vector<BlockId>> loops(f.blocks.size());  // heads of the loops that a block is in
    for (BlockId source : order)
        for (BlockId head : successors(f.blocks[source])) {
            if (position[head] > position[source]) continue;
            std::vector<bool> in(f.blocks.size(), false);
            std::vector<BlockId> work{source};
            in[head] = true;
            while (!work.empty()) {
                const BlockId at = work.back();
                work.pop_back();
                if (in[at]) continue;
                in[at] = true;
                for (BlockId pred : f.blocks[at].preds)
                    if (position[pred] != SIZE_MAX) work.push_back(pred);
            }
            for (BlockId b : order)
                if (in[b] && std::find(loops[b].begin(), loops[b].end(), head) == loops[b].end())
                    loops[b].push_back(head);
        }
    return loops;
}

void renumber(Function& f, const std::vector<BlockId>& order) {
    std::vector<BlockId> to(f.blocks.size(), no_value);
    for (size_t i = 0; i < order.size(); i++) to[order[i]] = static_cast<BlockId>(i);
    std::vector<Block> blocks;
    for (BlockId old : order) {
        Block& b = f.blocks[old];
        // Predecessors that are not reached are gone, and with them what phis took from them.
        std::vector<size_t> kept;
        for (size_t i = 0; i < b.preds.size(); i++)
            if (to[b.preds[i]] != no_value) kept.push_back(i);
        for (ValueId id : b.insts) {
            Inst& inst = f.insts[id];
            inst.block = to[old];
            if (inst.op != Opcode::Phi) continue;
            std::vector<ValueId> args;
            for (size_t i : kept) args.push_back(inst.args[i]);
            inst.args = std::move(args);
        }
        std::vector<BlockId> preds;
        for (size_t i : kept) preds.push_back(to[b.preds[i]]);
        b.preds = std::move(preds);
        if (auto* jump = std::get_if<Jump>(&b.end)) jump->to = to[jump->to];
        if (auto* branch = std::get_if<Branch>(&b.end)) {
            branch->yes = to[branch->yes];
            branch->no = to[branch->no];
        }
        blocks.push_back(std::move(b));
    }
    f.blocks = std::move(blocks);
    for (size_t i = 0; i < f.blocks.size(); i++) {
        f.blocks[i].loop_head =
            std::any_of(f.blocks[i].preds.begin(), f.blocks[i].preds.end(), [&](BlockId pred) { return pred >= i; });
    }
}

}  // namespace

void order_blocks(Function& f) {
    const auto plain = reverse_post_order(f.blocks.size(), [&](BlockId b) { return successors(f.blocks[b]); });
    const auto loops = loops_of(f, plain);
    // What is visited first comes last: first the ways that leave the most loops.
    auto shared = [&](BlockId from, BlockId to) {
        return std::count_if(loops[from].begin(), loops[from].end(), [&](BlockId head) {
            return std::find(loops[to].begin(), loops[to].end(), head) != loops[to].end();
        });
    };
    renumber(f, reverse_post_order(f.blocks.size(), [&](BlockId b) {
                 std::vector<BlockId> succs = successors(f.blocks[b]);
                 std::stable_sort(succs.begin(), succs.end(),
                                  [&](BlockId x, BlockId y) { return shared(b, x) < shared(b, y); });
                 return succs;
             }));
}

}  // namespace kpl::ir
