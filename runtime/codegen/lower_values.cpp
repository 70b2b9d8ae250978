// SPDX-License-Identifier: MIT
// Where values are: in registers, in immediates, or not computed before they are used.
#include <linux/bpf.h>

#include <algorithm>
#include <cstddef>

#include "codegen/lowering.hpp"
#include "ir/visit.hpp"

namespace kpl {

using ir::Opcode;
using mir::Kind;

namespace {

uint8_t hit_field_size(int64_t field) {
    return field == offsetof(kpl_hit, status) || field == offsetof(kpl_hit, cpu) ? 4 : 8;
}

// A mask whose only use is a test for 0.
bool tests_mask(const ir::Function& function, ir::ValueId mask, const Uses& use) {
    auto zero = [&](ir::ValueId value) {
        return function.insts[value].op == Opcode::Const && function.insts[value].imm == 0;
    };
    ir::Cmp cmp;
    ir::ValueId a, b;
    if (use.user == ir::no_value) {
        const auto& branch = std::get<ir::Branch>(function.blocks[use.block].end);
        cmp = branch.cmp, a = branch.a, b = branch.b;
    } else if (function.insts[use.user].op == Opcode::Compare) {
        const ir::Inst& compare = function.insts[use.user];
        cmp = compare.cmp, a = compare.args[0], b = compare.args[1];
    } else {
        return false;
    }
    return (cmp == ir::Cmp::Eq || cmp == ir::Cmp::Ne) && a == mask && zero(b);
}

}  // namespace

// Which values are not computed where they stand.
void Lowering::classify() {
    // How many values are lowered within each other where this one is used: each takes some of the stack.
    constexpr uint8_t most_folds = 32;
    std::vector<uint8_t> folds(in_.insts.size(), 0);
    for (ir::BlockId id : order_.blocks) {
        for (ValueId value : in_.blocks[id].insts) {
            const ir::Inst& v = inst(value);
            const Uses& uses = uses_[value];
            const bool once = uses.count == 1 && !uses.in_phi && uses.block == id;
            const bool no_deeper = uses.depth <= order_.depth[id];
            switch (v.op) {
                case Opcode::HitField: again_[value] = !ir::changes_during_hit(v.imm) && no_deeper; break;
                case Opcode::Reg: again_[value] = no_deeper; break;
                case Opcode::SExt:
                case Opcode::ZExt:
                    again_[value] = again_[v.args[0]] && no_deeper;
                    folds_[value] = once;
                    break;
                case Opcode::Compare: folds_[value] = once; break;
                case Opcode::LoadData:
                case Opcode::LoadSlot: folds_[value] = true; break;
                case Opcode::And: folds_[value] = once && (takes_one_value(v) || tests_mask(in_, value, uses)); break;
                default: folds_[value] = once && takes_one_value(v); break;
            }
            for (ValueId arg : v.args) folds[value] = std::max(folds[value], folds[arg]);
            folds_[value] = folds_[value] && folds[value] < most_folds;
            folds[value] = folds_[value] ? folds[value] + 1 : 0;
        }
    }
}

// An operation on one value that costs little: waiting for its use keeps no more alive than its result would.
bool Lowering::takes_one_value(const ir::Inst& v) const {
    switch (v.op) {
        case Opcode::Neg:
        case Opcode::Not: return true;
        case Opcode::Add:
        case Opcode::Sub:
        case Opcode::Mul:
        case Opcode::And:
        case Opcode::Or:
        case Opcode::Xor:
        case Opcode::Shl:
        case Opcode::Shr:
        case Opcode::Sar: return is_const(v.args[0]) || is_const(v.args[1]);
        default: return false;
    }
}

bool Lowering::deferred(ValueId value) const { return is_const(value) || again_[value] || folds_[value]; }

Lowering::Reg Lowering::reg_of(ValueId value) {
    if (is_const(value)) {
        Reg reg = out_.new_vreg();
        move_imm(reg, inst(value).imm);
        return reg;
    }
    if (again_[value]) return read_again(value);
    if (value_reg_[value] == mir::no_reg) {
        assert(folds_[value]);
        lower_value(value);
    }
    return value_reg_[value];
}

Lowering::Reg Lowering::reg_of(const Operand& operand) {
    if (operand.reg != mir::no_reg) return operand.reg;
    Reg reg = out_.new_vreg();
    move_imm(reg, operand.imm);
    return reg;
}

// It is used in more than one of the blocks that follow.
void Lowering::keep(ValueId value) {
    if (!is_const(value) && !again_[value]) reg_of(value);
}

Lowering::Operand Lowering::operand_of(ValueId value) {
    if (is_const(value) && mir::fits_s32(inst(value).imm)) return {mir::no_reg, inst(value).imm};
    return {reg_of(value), 0};
}

Lowering::Reg Lowering::read_again(ValueId value) {
    for (auto [known, reg] : region_values_)
        if (known == value) return reg;
    const ir::Inst& v = inst(value);
    Reg reg;
    if (v.op == Opcode::Reg)
        reg = load(object(Object::Regs), static_cast<int32_t>(v.imm), 8);
    else if (v.op == Opcode::HitField)
        reg = load(hit_, static_cast<int32_t>(v.imm), hit_field_size(v.imm));
    else
        reg = extend(value);
    region_values_.push_back({value, reg});
    return reg;
}

// What the hit points to.
Lowering::Reg Lowering::object(Object object) {
    constexpr size_t field[] = {offsetof(kpl_hit, regs), offsetof(kpl_hit, data), offsetof(kpl_hit, scratch)};
    auto index = static_cast<size_t>(object);
    Reg& reg = region_objects_[index];
    if (reg == mir::no_reg) reg = load(hit_, static_cast<int32_t>(field[index]), 8, mir::Holds::Pointer);
    return reg;
}

// A new block, or the registers that calls lose are lost.
void Lowering::start_region() {
    region_values_.clear();
    region_objects_.fill(mir::no_reg);
}

// The loads that still wait happen now: memory is about to be written, or control to split.
void Lowering::flush_loads(bool single_uses) {
    for (ValueId value : loads_) {
        if (value_reg_[value] != mir::no_reg || uses_[value].count == 0) continue;
        if (single_uses || uses_[value].count > 1) lower_value(value);
    }
    if (single_uses) loads_.clear();
}

void Lowering::move(Reg dst, ValueId value) {
    if (is_const(value))
        move_imm(dst, inst(value).imm);
    else
        move_reg(dst, reg_of(value));
}

void Lowering::move_imm(Reg dst, int64_t imm) { emit({.kind = Kind::MovImm, .dst = dst, .imm = imm}); }

void Lowering::move_reg(Reg dst, Reg src) { emit({.kind = Kind::Mov, .dst = dst, .a = src}); }

Lowering::Reg Lowering::load(Reg base, int32_t off, uint8_t size, mir::Holds holds) {
    Reg reg = out_.new_vreg(holds);
    emit({.kind = Kind::Load, .size = size, .dst = reg, .a = base, .off = off});
    return reg;
}

void Lowering::alu(uint8_t op, Reg dst, Operand b) {
    emit({.kind = Kind::Alu, .op = op, .dst = dst, .b = b.reg, .imm = b.imm});
}

}  // namespace kpl
