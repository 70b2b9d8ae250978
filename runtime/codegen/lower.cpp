// SPDX-License-Identifier: MIT
#include "codegen/lower.hpp"

#include <algorithm>

#include "codegen/lowering.hpp"
#include "codegen/parallel_copy.hpp"

namespace kpl {

using mir::Kind;

Lowering::Lowering(const ir::Function& function)
    : in_(function),
      order_(find_order(function)),
      uses_(find_uses(function, order_.depth)),
      memory_(assign_memory(function, uses_)),
      again_(function.insts.size()),
      folds_(function.insts.size()),
      value_reg_(function.insts.size(), mir::no_reg),
      literals_(function.blocks.size()) {
    classify();
}

mir::Function Lowering::run() {
    out_.blocks.resize(in_.blocks.size());  // the first block of each IR block has its number
    out_.areas = memory_.stack_size;
    out_.scratch_size = memory_.scratch_size;
    for (ir::BlockId id : order_.blocks)
        for (ValueId value : in_.blocks[id].insts)
            if (inst(value).op == ir::Opcode::Phi && uses_[value].count) define(value, out_.new_vreg());

    hit_ = out_.new_vreg(mir::Holds::Hit);
    const std::vector<ir::ValueId>& first = in_.blocks[0].insts;
    set_note(first.empty() ? in_.blocks[0].at : inst(first[0]).at, "");
    if (!in_.blocks[0].preds.empty()) {
        enter(new_block());
        move_reg(hit_, 1);
        emit({.kind = Kind::Jump, .yes = 0});
    }
    for (ir::BlockId id : order_.blocks) lower_block(id);
    return std::move(out_);
}

mir::BlockId Lowering::new_block() {
    mir::Block block;
    block.depth = order_.depth[ir_block_];
    block.cold = order_.cold[ir_block_];
    out_.blocks.push_back(std::move(block));
    return static_cast<mir::BlockId>(out_.blocks.size()) - 1;
}

// What follows stands in this block, after all that were entered before.
void Lowering::enter(mir::BlockId block) {
    block_ = block;
    out_.layout.push_back(block);
    start_region();
}

mir::Inst& Lowering::emit(mir::Inst inst) {
    inst.note = note_;
    auto& insts = out_.blocks[block_].insts;
    insts.push_back(inst);
    return insts.back();
}

void Lowering::set_note(const SourceLoc& at, const std::string& what) {
    mir::Note note{at, what};
    if (!out_.notes.empty() && out_.notes.back() == note) return;
    out_.notes.push_back(std::move(note));
    note_ = static_cast<uint32_t>(out_.notes.size()) - 1;
}

void Lowering::lower_block(ir::BlockId id) {
    const ir::Block& block = in_.blocks[id];
    ir_block_ = id;
    out_.blocks[id].depth = order_.depth[id];
    out_.blocks[id].cold = order_.cold[id];
    enter(id);
    if (id == 0 && block.preds.empty()) move_reg(hit_, 1);
    for (ValueId value : block.insts) {
        if (inst(value).op == ir::Opcode::Phi) continue;
        if (deferred(value)) {
            if (inst(value).op == ir::Opcode::LoadData || inst(value).op == ir::Opcode::LoadSlot)
                loads_.push_back(value);
            continue;
        }
        set_note(inst(value).at, inst(value).what);
        lower_value(value);
    }
    set_note(block.at, block.what);
    flush_loads(true);
    lower_terminator(id);
}

void Lowering::lower_terminator(ir::BlockId id) {
    const ir::Terminator& end = in_.blocks[id].end;
    if (const auto* jump = std::get_if<ir::Jump>(&end)) {
        mir::BlockId to = edge(id, jump->to, false, true);
        emit({.kind = Kind::Jump, .yes = to});
    } else if (const auto* branch = std::get_if<ir::Branch>(&end)) {
        lower_branch(id, *branch);
    } else if (const auto* ret = std::get_if<ir::Return>(&end)) {
        emit({.kind = Kind::Ret, .imm = ret->skip ? KPL_RET_SKIP : KPL_RET_DONE});
    } else {
        emit({.kind = Kind::Stop, .imm = std::get<ir::Stop>(end).reason});
    }
}

void Lowering::lower_branch(ir::BlockId id, const ir::Branch& branch) {
    Condition condition = compare(branch.cmp, branch.a, branch.b);
    mir::Inst inst = test(Kind::Branch, condition);
    mir::BlockId from = block_;
    inst.yes = edge(id, branch.yes, false, false);
    inst.no = edge(id, branch.no, branch.yes == branch.no, false);
    if (condition.negated) std::swap(inst.yes, inst.no);
    block_ = from;
    if (inst.yes == inst.no) inst = {.kind = Kind::Jump, .yes = inst.yes};
    emit(inst);
}

// Where the edge leads: phis get their values at the end of this block if it goes nowhere else (`alone`), or
// in a block of the edge's own. second: of two edges between the same blocks.
mir::BlockId Lowering::edge(ir::BlockId from, ir::BlockId to, bool second, bool alone) {
    const ir::Block& target = in_.blocks[to];
    bool phis = std::any_of(target.insts.begin(), target.insts.end(),
                            [&](ValueId value) { return inst(value).op == ir::Opcode::Phi && uses_[value].count; });
    if (!phis) return to;
    auto pred = std::find(target.preds.begin(), target.preds.end(), from);
    if (second) pred = std::find(pred + 1, target.preds.end(), from);
    assert(pred != target.preds.end());
    if (alone) {
        copy_phis(to, pred - target.preds.begin());
        return to;
    }
    mir::BlockId between = new_block();
    enter(between);
    copy_phis(to, pred - target.preds.begin());
    emit({.kind = Kind::Jump, .yes = to});
    return between;
}

void Lowering::copy_phis(ir::BlockId to, size_t pred) {
    std::vector<Copy> copies;
    std::vector<std::pair<Reg, ValueId>> constants;
    for (ValueId phi : in_.blocks[to].insts) {
        if (inst(phi).op != ir::Opcode::Phi || !uses_[phi].count) continue;
        ValueId value = inst(phi).args[pred];
        if (is_const(value))
            constants.push_back({value_reg_[phi], value});
        else
            copies.push_back({value_reg_[phi], reg_of(value)});
    }
    for (const Copy& copy : sequential(copies, [&] { return out_.new_vreg(); })) move_reg(copy.dst, copy.src);
    for (auto [dst, value] : constants) move(dst, value);
}

mir::Function lower(const ir::Function& function) { return Lowering(function).run(); }

}  // namespace kpl
