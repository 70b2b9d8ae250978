// SPDX-License-Identifier: MIT
// Random control flow around random straight IR: joins, loops with phis that exchange their values, early
// ends.
#pragma once

#include "codegen_generate.hpp"

namespace kpl::test {

class IrGenerator : public StraightGenerator {
  public:
    explicit IrGenerator(uint64_t seed) : StraightGenerator(seed) {}

    ir::Function run() {
        statements(2 + below(6), 0);
        if (chance(3)) pressure();
        emit();
        b_.ret(chance(4) && b_.function.kind == KPL_PROG_ENTRY);
        if (as_built()) split_critical_edges();
        ir::order_blocks(b_.function);
        return std::move(b_.function);
    }

  private:
    // Control leaves no block without a successor: what follows stands in a block of its own.
    void statements(uint32_t count, int depth) {
        for (uint32_t i = 0; i < count && b_.function.insts.size() < 400; i++) {
            switch (depth < 3 ? below(20) : 0) {
                case 15:
                case 16: choice(depth, true); break;
                case 17: choice(depth, false); break;
                case 18: loop(depth); break;
                case 19: leave(); break;
                default: straight(1); break;
            }
        }
    }

    struct Scope {
        std::vector<ValueId> values;
        std::vector<StrRef> strings;
    };
    Scope scope() const { return {scope_, strings_}; }
    void restore(Scope scope) {
        scope_ = std::move(scope.values);
        strings_ = std::move(scope.strings);
    }

    // if … [else …] end, with phis of what either side has.
    void choice(int depth, bool has_else) {
        auto [a, c] = compared();
        Cmp test = cmp();
        BlockId from = b_.current;
        Scope before = scope();
        BlockId yes = b_.block();
        statements(1 + below(4), depth + 1);
        BlockId yes_end = b_.current;
        std::vector<ValueId> left = scope_;
        restore(before);
        BlockId no = 0, no_end = from;
        if (has_else) {
            no = b_.block();
            statements(1 + below(4), depth + 1);
            no_end = b_.current;
        }
        std::vector<ValueId> right = scope_;
        restore(before);
        BlockId join = b_.block();
        if (has_else) {
            b_.branch_from(from, test, a, c, yes, no);
            b_.jump_from(yes_end, join);
            b_.jump_from(no_end, join);
        } else {
            b_.branch_from(from, test, a, c, yes, join);  // a critical edge
            b_.jump_from(yes_end, join);
        }
        for (uint32_t i = 0; i < below(4); i++) {
            ValueId l = left[below(left.size())], r = right[below(right.size())];
            bool first_is_left = b_.function.blocks[join].preds[0] == yes_end;
            scope_.push_back(b_.phi(first_is_left ? std::vector{l, r} : std::vector{r, l}));
        }
    }

    // A counter, other phis that may exchange their values, perhaps a break.
    void loop(int depth) {
        ValueId zero = b_.constant(0), limit = b_.constant(below(4));
        ValueId step = b_.constant(1);
        std::vector<ValueId> start;
        for (uint32_t i = 0; i < below(5); i++) start.push_back(any());
        BlockId before_end = b_.current;
        BlockId head = b_.block();
        b_.jump_from(before_end, head);
        ValueId counter = b_.phi({zero});
        std::vector<ValueId> phis;
        for (ValueId value : start) phis.push_back(b_.phi({value}));
        scope_.push_back(counter);
        scope_.insert(scope_.end(), phis.begin(), phis.end());
        if (chance(3)) straight(1);  // straight code in the head
        Scope in_head = scope();
        BlockId head_end = b_.current;
        BlockId body = b_.block();
        statements(1 + below(5), depth + 1);
        std::optional<BlockId> leaves;
        ValueId a = 0, c = 0;
        if (chance(3)) {
            std::tie(a, c) = compared();
            leaves = b_.current;
            b_.block();
            scope_.push_back(number());
        }
        ValueId next = b_.op(Opcode::Add, counter, step);
        std::vector<ValueId> nexts;
        for (size_t i = 0; i < phis.size(); i++) nexts.push_back(chance(2) ? phis[below(phis.size())] : any());
        BlockId latch = b_.current;
        b_.jump_from(latch, head);
        b_.function.blocks[head].loop_head = true;
        b_.function.insts[counter].args.push_back(next);
        for (size_t i = 0; i < phis.size(); i++) b_.function.insts[phis[i]].args.push_back(nexts[i]);
        restore(in_head);
        BlockId after = b_.block();
        b_.branch_from(head_end, Cmp::SLt, counter, limit, body, after);
        if (leaves) {
            BlockId go_on = *leaves + 1;
            b_.branch_from(*leaves, cmp(), a, c, after, go_on);
        }
        if (leaves && !phis.empty()) {
            ValueId left = phis[below(phis.size())];
            scope_.push_back(b_.phi({left, counter}));
        }
    }

    // As the builder does.
    void split_critical_edges() {
        for (BlockId from = 0, count = static_cast<BlockId>(b_.function.blocks.size()); from < count; from++) {
            for (bool yes : {true, false}) {
                auto* branch = std::get_if<ir::Branch>(&b_.function.blocks[from].end);
                if (!branch) continue;
                const BlockId to = yes ? branch->yes : branch->no;
                if (b_.function.blocks[to].preds.size() < 2) continue;
                const BlockId between = b_.block();
                branch = std::get_if<ir::Branch>(&b_.function.blocks[from].end);
                (yes ? branch->yes : branch->no) = between;
                for (BlockId& pred : b_.function.blocks[to].preds)
                    if (pred == from) pred = between;
                b_.function.blocks[between].preds = {from};
                b_.function.blocks[between].end = ir::Jump{to};
            }
        }
    }

    // if … then return or stop end
    void leave() {
        auto [a, c] = compared();
        BlockId from = b_.current;
        BlockId out = b_.block();
        if (chance(2))
            b_.stop(static_cast<kpl_stop>(KPL_STOP_FIRST_ + 1 + below(KPL_STOP_END_ - KPL_STOP_FIRST_ - 1)));
        else
            b_.ret(chance(2) && b_.function.kind == KPL_PROG_ENTRY);
        if (chance(4)) {
            // Something on the way out.
            b_.current = out;
            b_.call(KPL_H_exit, {ir::HitOperand{}, any()});
        }
        BlockId on = b_.block();
        bool likely = !chance(4);
        b_.branch_from(from, chance(2) ? Cmp::Eq : cmp(), a, c, likely ? out : on, likely ? on : out);
    }
};

}  // namespace kpl::test
