// SPDX-License-Identifier: MIT
// Every value that an instruction or a terminator uses, and every successor of a block.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <span>

#include "core/core.h"
#include "ir/ir.hpp"

namespace kpl::ir {

// The row of hit.def for the field at an offset of struct kpl_hit.
inline const kpl_hit_desc& hit_field(int64_t offset) {
    const std::span fields(kpl_hit_descs, kpl_nr_hit_descs);
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const kpl_hit_desc& field) { return field.off == offset; });
    assert(found != fields.end());
    return *found;
}

// Each read of it is another value.
inline bool changes_during_hit(int64_t field) { return hit_field(field).changes; }

template <class InstT, class Visit>
void for_each_use(InstT& inst, Visit&& visit) {
    for (auto& v : inst.args) visit(v);
    for (auto& operand : inst.operands)
        if (auto* v = std::get_if<ValueId>(&operand)) visit(*v);
    for (auto* fields : {&inst.fields, &inst.value_fields})
        for (auto& f : *fields)
            if (auto* v = std::get_if<ValueId>(&f.value)) visit(*v);
}

template <class TerminatorT, class Visit>
void for_each_terminator_use(TerminatorT& end, Visit&& visit) {
    if (auto* branch = std::get_if<Branch>(&end)) {
        visit(branch->a);
        visit(branch->b);
    }
}

template <class Visit>
void for_each_successor(const Terminator& end, Visit&& visit) {
    if (const auto* jump = std::get_if<Jump>(&end)) visit(jump->to);
    if (const auto* branch = std::get_if<Branch>(&end)) {
        visit(branch->yes);
        visit(branch->no);
    }
}

// Every slot that an instruction reads or writes.
template <class Visit>
void for_each_slot(const Inst& inst, Visit&& visit) {
    switch (inst.op) {
        case Opcode::LoadSlot:
        case Opcode::StoreSlot:
        case Opcode::MapGet: visit(inst.slot); break;
        default: break;
    }
    auto string = [&](const StrRef& s) {
        if (s.where == StrRef::Where::Slot) visit(s.index);
    };
    for (const Operand& operand : inst.operands) {
        if (const auto* s = std::get_if<StrOperand>(&operand)) string(s->str);
        if (const auto* s = std::get_if<SlotOperand>(&operand)) visit(s->slot);
    }
    for (const auto* fields : {&inst.fields, &inst.value_fields})
        for (const FieldStore& f : *fields)
            if (const auto* s = std::get_if<StrRef>(&f.value)) string(*s);
}

// The immediate dominator of each block (of the entry: itself). Blocks are in reverse post order.
std::vector<BlockId> dominators(const Function& f);

// The same as a tree, whose blocks are numbered in preorder: a block dominates those of its subtree.
class DominatorTree {
  public:
    explicit DominatorTree(const Function& f);
    bool dominates(BlockId a, BlockId b) const { return number_[b] - number_[a] < size_[a]; }

  private:
    std::vector<uint32_t> number_, size_;
};

}  // namespace kpl::ir
