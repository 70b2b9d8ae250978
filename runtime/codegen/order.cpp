// SPDX-License-Identifier: MIT
#include "codegen/order.hpp"

#include <algorithm>

namespace kpl {
namespace {

using ir::BlockId;

// The IR's order is a reverse post order: an edge is backward when it does not lead to a higher number.
struct Loop {
    BlockId head;
    std::vector<bool> member;
    uint32_t left = 0;  // members not placed yet
};

class Ordering {
  public:
    explicit Ordering(const ir::Function& function)
        : function_(function), count_(function.blocks.size()), preds_(count_), reachable_(count_) {}

    BlockOrder run() {
        find_edges();
        find_loops();
        find_cold();
        find_dominators();
        place();
        return std::move(result_);
    }

  private:
    void find_edges() {
        std::vector<BlockId> work{0};
        reachable_[0] = true;
        while (!work.empty()) {
            BlockId from = work.back();
            work.pop_back();
            for_each_successor(function_.blocks[from], [&](BlockId to) {
                preds_[to].push_back(from);
                if (reachable_[to]) return;
                reachable_[to] = true;
                work.push_back(to);
            });
        }
    }

    // A loop is what reaches its backward jump from its head.
    void find_loops() {
        result_.depth.assign(count_, 0);
        for (BlockId head = 0; head < count_; head++) {
            Loop loop{head, std::vector<bool>(count_)};
            std::vector<BlockId> work;
            for (BlockId pred : preds_[head])
                if (pred >= head) work.push_back(pred);
            if (work.empty()) continue;
            loop.member[head] = true;
            while (!work.empty()) {
                BlockId block = work.back();
                work.pop_back();
                if (loop.member[block]) continue;
                loop.member[block] = true;
                for (BlockId pred : preds_[block])
                    if (pred > head) work.push_back(pred);
            }
            for (BlockId block = head; block < count_; block++) {
                if (!loop.member[block]) continue;
                loop.left++;
                result_.depth[block]++;
            }
            loops_.push_back(std::move(loop));
        }
    }

    void find_cold() {
        result_.cold.assign(count_, false);
        for (BlockId block = count_; block-- > 0;) {
            const ir::Block& b = function_.blocks[block];
            bool cold = !std::holds_alternative<ir::Return>(b.end);
            for_each_successor(b, [&](BlockId to) { cold = cold && to > block && result_.cold[to]; });
            result_.cold[block] = cold && block != 0;
        }
    }

    void find_dominators() {
        std::vector<BlockId>& idom = result_.idom;
        constexpr BlockId none = ~0u;
        idom.assign(count_, none);
        idom[0] = 0;
        for (bool changed = true; changed;) {
            changed = false;
            for (BlockId block = 1; block < count_; block++) {
                BlockId common = none;
                for (BlockId pred : preds_[block]) {
                    if (idom[pred] == none) continue;
                    common = common == none ? pred : meet(common, pred);
                }
                if (common == idom[block]) continue;
                idom[block] = common;
                changed = true;
            }
        }
    }

    BlockId meet(BlockId a, BlockId b) const {
        while (a != b) {
            while (a > b) a = result_.idom[a];
            while (b > a) b = result_.idom[b];
        }
        return a;
    }

    bool ready(BlockId block) const {
        if (!reachable_[block] || placed_[block]) return false;
        return std::all_of(preds_[block].begin(), preds_[block].end(),
                           [&](BlockId pred) { return pred >= block || placed_[pred]; });
    }

    // A loop that was entered is finished before what follows it; then what the last block falls into.
    BlockId next() const {
        BlockId best = count_;
        int best_score = -1;
        for (BlockId block = 0; block < count_; block++) {
            if (!ready(block)) continue;
            int score = result_.cold[block] ? 0 : 2;
            if (score && !open_.empty() && loops_[open_.back()].member[block]) score += 2;
            if (!result_.blocks.empty())
                for_each_successor(function_.blocks[result_.blocks.back()], [&](BlockId to) {
                    if (to == block && score) score = score / 2 * 2 + 1;
                });
            if (score <= best_score) continue;
            best = block;
            best_score = score;
        }
        return best;
    }

    void place() {
        placed_.assign(count_, false);
        for (;;) {
            BlockId block = next();
            if (block == count_) return;
            placed_[block] = true;
            result_.blocks.push_back(block);
            for (size_t i = 0; i < loops_.size(); i++) {
                if (!loops_[i].member[block]) continue;
                loops_[i].left--;
                if (loops_[i].head == block) open_.push_back(i);
            }
            while (!open_.empty() && loops_[open_.back()].left == 0) open_.pop_back();
        }
    }

    const ir::Function& function_;
    const BlockId count_;
    std::vector<std::vector<BlockId>> preds_;
    std::vector<bool> reachable_, placed_;
    std::vector<Loop> loops_;
    std::vector<size_t> open_;  // indices of loops_, the innermost last
    BlockOrder result_;
};

}  // namespace

BlockOrder order_blocks(const ir::Function& function) { return Ordering(function).run(); }

}  // namespace kpl
