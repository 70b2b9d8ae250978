// SPDX-License-Identifier: MIT
// Arithmetic on 64-bit numbers.
#include <linux/bpf.h>

#include <bit>

#include "codegen/lowering.hpp"

namespace kpl {

using ir::Opcode;
using mir::Kind;

namespace {

struct AluForm {
    uint8_t op;
    bool commutes;
};

AluForm alu_form(Opcode op) {
    switch (op) {
        case Opcode::Add: return {BPF_ADD, true};
        case Opcode::Sub: return {BPF_SUB, false};
        case Opcode::Mul: return {BPF_MUL, true};
        case Opcode::And: return {BPF_AND, true};
        case Opcode::Or: return {BPF_OR, true};
        case Opcode::Xor: return {BPF_XOR, true};
        case Opcode::Shl: return {BPF_LSH, false};
        case Opcode::Shr: return {BPF_RSH, false};
        case Opcode::Sar: return {BPF_ARSH, false};
        case Opcode::UDiv: return {BPF_DIV, false};
        default: assert(op == Opcode::UMod); return {BPF_MOD, false};
    }
}

bool is_shift(Opcode op) { return op == Opcode::Shl || op == Opcode::Shr || op == Opcode::Sar; }

int log2_of(uint64_t value) { return std::countr_zero(value); }

}  // namespace

void Lowering::lower_value(ValueId value) {
    const ir::Inst& v = inst(value);
    switch (v.op) {
        case Opcode::Const:
        case Opcode::Phi: return;
        case Opcode::HitField:
        case Opcode::Reg: return define(value, read_again(value));
        case Opcode::UDiv:
        case Opcode::UMod: return lower_unsigned_division(value) ? void() : lower_binary(value);
        case Opcode::SDiv:
        case Opcode::SMod: return lower_signed_division(value);
        case Opcode::Mul: return lower_multiply(value) ? void() : lower_binary(value);
        case Opcode::Add:
        case Opcode::Sub:
        case Opcode::And:
        case Opcode::Or:
        case Opcode::Xor:
        case Opcode::Shl:
        case Opcode::Shr:
        case Opcode::Sar: return lower_binary(value);
        case Opcode::Neg:
        case Opcode::Not: {
            Reg reg = out_.new_vreg();
            move(reg, v.args[0]);
            v.op == Opcode::Neg ? alu(BPF_NEG, reg, {}) : alu(BPF_XOR, reg, {mir::no_reg, -1});
            return define(value, reg);
        }
        case Opcode::SExt:
        case Opcode::ZExt: return define(value, extend(value));
        case Opcode::Compare: return lower_compare(value);
        case Opcode::Select: return lower_select(value);
        case Opcode::Read:
        case Opcode::SoftRead:
        case Opcode::StatusClear: return lower_read(value);
        case Opcode::LoadData: return define(value, load(object(Object::Data), static_cast<int32_t>(v.imm), 8));
        case Opcode::LoadReg: return define(value, load(object(Object::Regs), static_cast<int32_t>(v.imm), 8));
        case Opcode::LoadSlot: {
            Address from = scratch(memory_.slot[v.slot] + static_cast<uint32_t>(v.imm), 8);
            return define(value, load(from.reg, from.off, 8));
        }
        case Opcode::StoreData:
        case Opcode::StoreReg:
        case Opcode::StoreSlot: return lower_store(value);
        case Opcode::Call: return lower_call(value);
        case Opcode::Emit: return lower_emit(value);
        case Opcode::AggAdd:
        case Opcode::MapGet:
        case Opcode::MapSet:
        case Opcode::MapDelete:
        case Opcode::MapAdd: return lower_map(value);
    }
}

// dst = a; dst op= b. A value that ends here makes the better dst.
void Lowering::lower_binary(ValueId value) {
    const ir::Inst& v = inst(value);
    AluForm form = alu_form(v.op);
    ValueId a = v.args[0], b = v.args[1];
    auto lives_on = [&](ValueId arg) { return uses_[arg].count > 1; };
    if (form.commutes && (is_const(a) || (!is_const(b) && lives_on(a) && !lives_on(b)))) std::swap(a, b);

    Reg reg = out_.new_vreg();
    if (v.op == Opcode::And && is_const(b) && inst(b).imm == UINT32_MAX) {
        emit({.kind = Kind::Zext32, .dst = reg, .a = reg_of(a)});
        return define(value, reg);
    }
    Operand right = is_shift(v.op) && is_const(b) ? Operand{mir::no_reg, inst(b).imm & 63} : operand_of(b);
    move(reg, a);
    alu(form.op, reg, right);
    define(value, reg);
}

// By a power of two.
bool Lowering::lower_multiply(ValueId value) {
    ValueId a = inst(value).args[0], b = inst(value).args[1];
    if (is_const(a)) std::swap(a, b);
    if (!is_const(b) || !std::has_single_bit(static_cast<uint64_t>(inst(b).imm))) return false;
    Reg reg = out_.new_vreg();
    move(reg, a);
    if (inst(b).imm != 1) alu(BPF_LSH, reg, {mir::no_reg, log2_of(inst(b).imm)});
    define(value, reg);
    return true;
}

// By a power of two.
bool Lowering::lower_unsigned_division(ValueId value) {
    const ir::Inst& v = inst(value);
    if (!is_const(v.args[1])) return false;
    auto divisor = static_cast<uint64_t>(inst(v.args[1]).imm);
    if (!std::has_single_bit(divisor)) return false;
    define(value, divide_by_constant(v.args[0], divisor, v.op == Opcode::UMod));
    return true;
}

// dividend / divisor, or %, both taken as unsigned.
Lowering::Reg Lowering::divide_by_constant(ValueId dividend, uint64_t divisor, bool modulo) {
    Reg reg = out_.new_vreg();
    const bool power = std::has_single_bit(divisor);
    const auto operand = static_cast<int64_t>(!power ? divisor : modulo ? divisor - 1 : log2_of(divisor));
    Operand right{mir::no_reg, operand};
    if (!mir::fits_s32(operand)) right = {reg_of(right), 0};
    move(reg, dividend);
    alu(power ? (modulo ? BPF_AND : BPF_RSH) : (modulo ? BPF_MOD : BPF_DIV), reg, right);
    return reg;
}

// Truncates toward zero, by 1 << shift: the dividend is biased if it is negative.
Lowering::Reg Lowering::divide_by_power(ValueId dividend, uint32_t shift, bool modulo) {
    Reg bias = out_.new_vreg(), reg = out_.new_vreg();
    Operand mask{mir::no_reg, static_cast<int64_t>((uint64_t{1} << shift) - 1)};
    if (modulo && !mir::fits_s32(mask.imm)) mask = {reg_of(mask), 0};
    Reg from = reg_of(dividend);
    move_reg(bias, from);
    if (shift > 1) alu(BPF_ARSH, bias, {mir::no_reg, 63});
    alu(BPF_RSH, bias, {mir::no_reg, 64 - shift});
    move_reg(reg, from);
    alu(BPF_ADD, reg, {bias, 0});
    if (modulo) {
        alu(BPF_AND, reg, mask);
        alu(BPF_SUB, reg, {bias, 0});
    } else {
        alu(BPF_ARSH, reg, {mir::no_reg, shift});
    }
    return reg;
}

void Lowering::lower_signed_division(ValueId value) {
    const ir::Inst& v = inst(value);
    const bool modulo = v.op == Opcode::SMod;
    ValueId dividend = v.args[0], divisor = v.args[1];
    int64_t d = is_const(divisor) ? inst(divisor).imm : 0;
    if (significant_bits(in_, dividend) < 64 && significant_bits(in_, divisor) < 64) {
        if (d) return define(value, divide_by_constant(dividend, d, modulo));
        Reg reg = out_.new_vreg();
        Operand right = operand_of(divisor);
        move(reg, dividend);
        alu(modulo ? BPF_MOD : BPF_DIV, reg, right);
        return define(value, reg);
    }
    if (d == 0 || d == INT64_MIN) {
        call(modulo ? KPL_H_smod : KPL_H_sdiv, {ValueArg{dividend}, ValueArg{divisor}});
        return define(value, result());
    }
    const auto size = static_cast<uint64_t>(d < 0 ? -d : d);
    Reg reg;
    if (size == 1) {
        reg = out_.new_vreg();
        modulo ? move_imm(reg, 0) : move(reg, dividend);
    } else if (std::has_single_bit(size)) {
        reg = divide_by_power(dividend, log2_of(size), modulo);
    } else {
        // On the absolute value, which is right for INT64_MIN too; the sign is put back.
        Reg sign = out_.new_vreg(), from = reg_of(dividend);
        Operand right{mir::no_reg, static_cast<int64_t>(size)};
        if (!mir::fits_s32(right.imm)) right = {reg_of(right), 0};
        reg = out_.new_vreg();
        move_reg(sign, from);
        alu(BPF_ARSH, sign, {mir::no_reg, 63});
        move_reg(reg, from);
        alu(BPF_XOR, reg, {sign, 0});
        alu(BPF_SUB, reg, {sign, 0});
        alu(modulo ? BPF_MOD : BPF_DIV, reg, right);
        alu(BPF_XOR, reg, {sign, 0});
        alu(BPF_SUB, reg, {sign, 0});
    }
    if (d < 0 && !modulo) alu(BPF_NEG, reg, {});
    define(value, reg);
}

Lowering::Reg Lowering::extend(ValueId value) {
    const ir::Inst& v = inst(value);
    const uint32_t bits = significant_bits(in_, v.args[0]);
    const auto to = static_cast<uint32_t>(v.imm);
    const bool is_signed = v.op == Opcode::SExt;
    if (bits < to || (bits == to && !is_signed)) return reg_of(v.args[0]);

    Reg reg = out_.new_vreg();
    if (!is_signed && to == 32) {
        emit({.kind = Kind::Zext32, .dst = reg, .a = reg_of(v.args[0])});
    } else {
        move(reg, v.args[0]);
        if (is_signed) {
            alu(BPF_LSH, reg, {mir::no_reg, 64 - to});
            alu(BPF_ARSH, reg, {mir::no_reg, 64 - to});
        } else {
            alu(BPF_AND, reg, {mir::no_reg, (int64_t{1} << to) - 1});
        }
    }
    return reg;
}

}  // namespace kpl
