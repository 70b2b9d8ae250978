// SPDX-License-Identifier: MIT
// Comparisons: as the end of a block, as a number, as a choice between two.
#include "codegen/lowering.hpp"

namespace kpl {

using ir::Cmp;
using ir::Opcode;
using mir::as_test;
using mir::Kind;
using mir::Test;

namespace {

bool is_signed(Cmp cmp) { return cmp >= Cmp::SLt && cmp <= Cmp::SGe; }
bool is_equality(Cmp cmp) { return cmp == Cmp::Eq || cmp == Cmp::Ne; }

// Of numbers that are not negative, the signed order is the unsigned one.
Cmp as_unsigned(Cmp cmp) { return is_signed(cmp) ? static_cast<Cmp>(static_cast<int>(cmp) + 4) : cmp; }
static_assert(static_cast<int>(Cmp::SLt) + 4 == static_cast<int>(Cmp::ULt));

}  // namespace

// value is not 0.
Lowering::Condition Lowering::truth(ValueId value) {
    if (waits(value)) {
        const ir::Inst& v = inst(value);
        if (v.op == Opcode::Compare) return compare(v.cmp, v.args[0], v.args[1]);
        if (v.op == Opcode::And) {
            ValueId a = v.args[0], b = v.args[1];
            if (is_const(a)) std::swap(a, b);
            int64_t mask = is_const(b) ? inst(b).imm : 0;
            if (mask > INT32_MAX && mask <= UINT32_MAX)
                return {Test::Bits, true, false, reg_of(a), {mir::no_reg, static_cast<int32_t>(mask)}};
            Reg left = reg_of(a);
            return {Test::Bits, false, false, left, operand_of(b)};
        }
    }
    return {Test::Ne, false, false, reg_of(value), {mir::no_reg, 0}};
}

Lowering::Condition Lowering::compare(Cmp cmp, ValueId a, ValueId b) {
    if (is_const(a) && !is_const(b)) {
        std::swap(a, b);
        cmp = static_cast<Cmp>(mir::swapped(as_test(cmp)));
    }
    if (is_equality(cmp) && is_const(b) && inst(b).imm == 0 && waits(a)) {
        Opcode op = inst(a).op;
        if (op == Opcode::Compare || op == Opcode::And) {
            Condition condition = truth(a);
            if (cmp == Cmp::Ne) return condition;
            if (condition.test == Test::Bits)
                condition.negated = !condition.negated;
            else
                condition.test = mir::inverse(condition.test);
            return condition;
        }
    }
    Condition condition;
    if (compare_narrow(cmp, a, b, condition)) return condition;
    condition.test = as_test(cmp);
    condition.a = reg_of(a);
    condition.b = operand_of(b);
    return condition;
}

// Extensions to 64 bits that only serve the comparison are left out: their low halves are compared.
bool Lowering::compare_narrow(Cmp cmp, ValueId a, ValueId b, Condition& condition) {
    auto extends = [&](ValueId value, Opcode op) {
        return waits(value) && inst(value).op == op && inst(value).imm == 32;
    };
    auto fits_signed = [&](ValueId value) {
        if (is_const(value)) return mir::fits_s32(inst(value).imm);
        return inst(value).op == Opcode::SExt || significant_bits(in_, value) < 32;
    };
    auto fits_unsigned = [&](ValueId value) { return significant_bits(in_, value) <= 32; };
    bool gains_signed = extends(a, Opcode::SExt) || extends(b, Opcode::SExt);
    bool gains_unsigned = extends(a, Opcode::ZExt) || extends(b, Opcode::ZExt);
    if (gains_signed && fits_signed(a) && fits_signed(b))
        condition.test = as_test(cmp);
    else if (gains_unsigned && fits_unsigned(a) && fits_unsigned(b))
        condition.test = as_test(as_unsigned(cmp));
    else
        return false;

    auto low = [&](ValueId value) {
        bool left_out = extends(value, Opcode::SExt) || extends(value, Opcode::ZExt);
        return reg_of(left_out ? inst(value).args[0] : value);
    };
    condition.narrow = true;
    condition.a = low(a);
    if (is_const(b))
        condition.b = {mir::no_reg, static_cast<int32_t>(inst(b).imm)};
    else
        condition.b = {low(b), 0};
    return true;
}

mir::Inst Lowering::test(Kind kind, const Condition& condition) {
    mir::Inst inst{.kind = kind};
    inst.cmp = condition.test;
    inst.narrow = condition.narrow;
    inst.a = condition.a;
    inst.b = condition.b.reg;
    inst.imm = condition.b.imm;
    return inst;
}

void Lowering::lower_select(ValueId value) {
    ValueId yes = inst(value).args[1], no = inst(value).args[2];
    Condition condition = truth(inst(value).args[0]);
    if (condition.negated) std::swap(yes, no);
    Operand otherwise = operand_of(no);
    Reg reg = out_.new_vreg();
    move(reg, yes);
    mir::Inst choose = test(Kind::CondMov, condition);
    choose.dst = reg;
    choose.c = otherwise.reg;
    choose.imm2 = otherwise.imm;
    emit(choose);
    define(value, reg);
}

void Lowering::lower_compare(ValueId value) {
    const ir::Inst& v = inst(value);
    Condition condition = compare(v.cmp, v.args[0], v.args[1]);
    Reg reg = out_.new_vreg();
    move_imm(reg, !condition.negated);
    mir::Inst choose = test(Kind::CondMov, condition);
    choose.dst = reg;
    choose.imm2 = condition.negated;
    emit(choose);
    define(value, reg);
}

}  // namespace kpl
