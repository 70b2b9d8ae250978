// SPDX-License-Identifier: MIT
// What must hold of a function between the builder, the passes and code generation.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/visit.hpp"

namespace kpl::ir {

std::vector<BlockId> dominators(const Function& f) {
    std::vector<BlockId> idom(f.blocks.size(), no_value);
    if (f.blocks.empty()) return idom;
    idom[0] = 0;
    auto common = [&](BlockId a, BlockId b) {
        while (a != b) {
            while (a > b) a = idom[a];
            while (b > a) b = idom[b];
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (BlockId b = 1; b < f.blocks.size(); b++) {
            BlockId best = no_value;
            for (BlockId pred : f.blocks[b].preds)
                if (idom[pred] != no_value) best = best == no_value ? pred : common(best, pred);
            if (best == idom[b]) continue;
            idom[b] = best;
            changed = true;
        }
    }
    return idom;
}

DominatorTree::DominatorTree(const Function& f) : number_(f.blocks.size(), 0), size_(f.blocks.size(), 1) {
    const std::vector<BlockId> idom = dominators(f);
    for (size_t b = idom.size(); b-- > 1;) size_[idom[b]] += size_[b];
    std::vector<uint32_t> next(idom.size(), 1);  // of a block's children
    for (size_t b = 1; b < idom.size(); b++) {
        number_[b] = next[idom[b]];
        next[idom[b]] += size_[b];
        next[b] = number_[b] + 1;
    }
}

namespace {

class Checker {
  public:
    explicit Checker(const Function& f) : f_(f) {}

    std::string run() {
        if (f_.blocks.empty()) return "no blocks\n";
        check_edges();
        if (!wrong_.empty()) return wrong_;
        tree_.emplace(f_);
        find_positions();
        for (BlockId b = 0; b < f_.blocks.size(); b++) check_block(b);
        return wrong_;
    }

  private:
    template <class... Args>
    void wrong(fmt::format_string<Args...> format, Args&&... args) {
        wrong_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
    }

    void check_edges() {
        std::vector<std::vector<BlockId>> preds(f_.blocks.size());
        for (BlockId b = 0; b < f_.blocks.size(); b++) {
            int successors = 0;
            for_each_successor(f_.blocks[b].end, [&](BlockId to) {
                successors++;
                if (to >= f_.blocks.size())
                    wrong("b{} goes to b{}, which does not exist", b, to);
                else
                    preds[to].push_back(b);
            });
            if (successors < 2) continue;
            for_each_successor(f_.blocks[b].end, [&](BlockId to) {
                if (to < f_.blocks.size() && f_.blocks[to].preds.size() > 1)
                    wrong("b{} to b{} is a critical edge", b, to);
            });
        }
        for (BlockId b = 0; b < f_.blocks.size(); b++) {
            std::vector<BlockId> have = f_.blocks[b].preds;
            std::sort(have.begin(), have.end());
            std::sort(preds[b].begin(), preds[b].end());
            if (have != preds[b]) wrong("b{}'s predecessors are not those that go there", b);
            if (b && have.empty()) wrong("b{} can't be reached", b);
            const bool back = std::any_of(have.begin(), have.end(), [&](BlockId pred) { return pred >= b; });
            if (back != f_.blocks[b].loop_head) wrong("b{}'s loop_head is wrong", b);
            if (b && !have.empty() && have.front() >= b) wrong("b{} comes before all of its predecessors", b);
        }
        if (!f_.blocks[0].preds.empty()) wrong("the entry has predecessors");
    }

    void find_positions() {
        position_.assign(f_.insts.size(), {no_value, 0});
        for (BlockId b = 0; b < f_.blocks.size(); b++)
            for (size_t i = 0; i < f_.blocks[b].insts.size(); i++) {
                const ValueId id = f_.blocks[b].insts[i];
                if (id >= f_.insts.size()) {
                    wrong("b{} lists v{}, which does not exist", b, id);
                    continue;
                }
                if (position_[id].first != no_value) wrong("v{} is listed twice", id);
                if (f_.insts[id].block != b) wrong("v{} is in b{} but says b{}", id, b, f_.insts[id].block);
                position_[id] = {b, i};
            }
    }

    // `v` must be computed before position `at` of block `b`.
    void check_use(ValueId v, BlockId b, size_t at, const std::string& where) {
        if (v >= f_.insts.size() || position_[v].first == no_value) {
            wrong("{} uses v{}, which is nowhere", where, v);
            return;
        }
        const auto [def, index] = position_[v];
        if (def == b ? index >= at : !tree_->dominates(def, b)) wrong("{} uses v{} before it is computed", where, v);
    }

    void check_block(BlockId b) {
        const Block& block = f_.blocks[b];
        bool phis = true;
        for (size_t i = 0; i < block.insts.size(); i++) {
            const ValueId id = block.insts[i];
            if (id >= f_.insts.size()) continue;
            const Inst& inst = f_.insts[id];
            if (inst.op == Opcode::Phi) {
                if (!phis) wrong("v{} is a phi after other instructions", id);
                check_phi(id, b);
                continue;
            }
            phis = false;
            for_each_use(inst, [&](ValueId v) { check_use(v, b, i, fmt::format("v{}", id)); });
            check_inst(id);
        }
        for_each_terminator_use(block.end,
                                [&](ValueId v) { check_use(v, b, block.insts.size(), fmt::format("b{}'s end", b)); });
    }

    void check_phi(ValueId id, BlockId b) {
        const Inst& inst = f_.insts[id];
        const auto& preds = f_.blocks[b].preds;
        if (inst.args.size() != preds.size()) {
            wrong("v{} has {} values for {} predecessors", id, inst.args.size(), preds.size());
            return;
        }
        for (size_t i = 0; i < preds.size(); i++)
            check_use(inst.args[i], preds[i], f_.blocks[preds[i]].insts.size(), fmt::format("v{}", id));
    }

    static size_t arity(Opcode op) {
        switch (op) {
            case Opcode::Const:
            case Opcode::HitField:
            case Opcode::Reg:
            case Opcode::StatusClear:
            case Opcode::LoadData:
            case Opcode::LoadReg:
            case Opcode::LoadSlot:
            case Opcode::Call:
            case Opcode::Emit:
            case Opcode::MapGet:
            case Opcode::MapSet:
            case Opcode::MapDelete:
            case Opcode::Phi: return 0;
            case Opcode::Neg:
            case Opcode::Not:
            case Opcode::SExt:
            case Opcode::ZExt:
            case Opcode::Read:
            case Opcode::SoftRead:
            case Opcode::StoreData:
            case Opcode::StoreReg:
            case Opcode::StoreSlot:
            case Opcode::AggAdd:
            case Opcode::MapAdd: return 1;
            case Opcode::Select: return 3;
            default: return 2;
        }
    }

    void check_inst(ValueId id) {
        const Inst& inst = f_.insts[id];
        if (inst.args.size() != arity(inst.op)) wrong("v{} has {} operands", id, inst.args.size());
        for_each_slot(inst, [&](SlotId slot) {
            if (slot >= f_.slots.size()) wrong("v{} names s{}, which does not exist", id, slot);
        });
        auto string = [&](const StrRef& s) {
            const uint32_t size = KPL_STR_SIZE(s.limit);
            if (s.where == StrRef::Where::Slot && s.index < f_.slots.size() && s.offset + size > f_.slots[s.index].size)
                wrong("v{}: a string of {} bytes does not fit s{}", id, s.limit, s.index);
            if (s.where == StrRef::Where::Data && s.index + size > f_.data_size)
                wrong("v{}: a string at {} is outside of the {} bytes of data", id, s.index, f_.data_size);
        };
        for (const Operand& o : inst.operands)
            if (const auto* s = std::get_if<StrOperand>(&o)) string(s->str);
        for (const auto* fields : {&inst.fields, &inst.value_fields})
            for (const FieldStore& field : *fields)
                if (const auto* s = std::get_if<StrRef>(&field.value)) string(*s);
        const bool data = inst.op == Opcode::LoadData || inst.op == Opcode::StoreData;
        if (data && inst.imm + 8 > f_.data_size) wrong("v{}: offset {} is outside of data", id, inst.imm);
        const bool slot = inst.op == Opcode::LoadSlot || inst.op == Opcode::StoreSlot;
        if (slot && inst.slot < f_.slots.size() && inst.imm + 8 > f_.slots[inst.slot].size)
            wrong("v{}: offset {} is outside of s{}", id, inst.imm, inst.slot);
    }

    const Function& f_;
    std::string wrong_;
    std::optional<DominatorTree> tree_;
    std::vector<std::pair<BlockId, size_t>> position_;
};

}  // namespace

std::string check(const Function& f) { return Checker(f).run(); }

}  // namespace kpl::ir
