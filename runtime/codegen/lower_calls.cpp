// SPDX-License-Identifier: MIT
// Helpers, and the memory that they work on.
#include <linux/bpf.h>

#include <algorithm>
#include <cstddef>

#include "codegen/lowering.hpp"

namespace kpl {

using ir::Opcode;
using ir::StrRef;
using mir::Kind;

namespace {

// A copy of a string to where the longest one fits.
bool always_fits(const ir::Inst& call) {
    if (call.helper != KPL_H_str_copy) return false;
    return std::get<ir::StrOperand>(call.operands[3]).str.limit <= std::get<ir::StrOperand>(call.operands[1]).str.limit;
}

constexpr uint32_t max_displacement = 32760;  // of an access, in its 16-bit field

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

// Numbers go to their registers before what takes no register to make; the hit last, as it may lie in r1.
uint32_t Lowering::call(kpl_helper helper, const std::vector<Arg>& args) {
    std::vector<Arg> ready = args;
    for (Arg& arg : ready) {
        const auto* value = std::get_if<ValueArg>(&arg);
        if (!value) continue;
        if (is_const(value->value))
            arg = ConstArg{inst(value->value).imm};
        else
            arg = RegArg{reg_of(value->value)};
    }
    auto rank = [&](size_t i) {
        return std::holds_alternative<RegArg>(ready[i]) ? 0 : std::holds_alternative<HitArg>(ready[i]) ? 2 : 1;
    };
    for (int now = 0; now <= 2; now++)
        for (size_t i = 0; i < ready.size(); i++)
            if (rank(i) == now) set_argument(static_cast<Reg>(i + 1), ready[i]);
    const uint32_t site = out_.sites++;
    emit({.kind = Kind::Call, .imm = helper, .site = site});
    start_region();
    return site;
}

void Lowering::set_argument(Reg reg, const Arg& arg) {
    std::visit(Overloaded{
                   [&](HitArg) { move_reg(reg, hit_); },
                   [&](ConstArg number) { move_imm(reg, number.value); },
                   [&](MapArg map) { emit({.kind = Kind::LoadMap, .dst = reg, .imm = map.map}); },
                   [&](ValueArg value) { move(reg, value.value); },
                   [&](RegArg from) { move_reg(reg, from.reg); },
                   [&](ObjectArg memory) {
                       bool data = memory.object == Object::Data;
                       size_t field = data ? offsetof(kpl_hit, data) : offsetof(kpl_hit, scratch);
                       emit({.kind = Kind::Load, .dst = reg, .a = hit_, .off = static_cast<int32_t>(field)});
                       if (memory.offset) alu(BPF_ADD, reg, {mir::no_reg, memory.offset});
                   },
                   [&](StackArg memory) {
                       move_reg(reg, mir::frame);
                       alu(BPF_ADD, reg, {mir::no_reg, memory.offset});
                   },
               },
               arg);
}

Lowering::Reg Lowering::result() {
    Reg reg = out_.new_vreg();
    move_reg(reg, 0);
    return reg;
}

void Lowering::take_result(ValueId value) {
    if (uses_[value].count) define(value, result());
}

// Stops the handler if the helper that was called last failed.
void Lowering::trap(uint32_t site) {
    Reg status = load(hit_, offsetof(kpl_hit, status), 4);
    out_.vreg(status).spillable = false;
    emit({.kind = Kind::Trap, .a = status, .site = site});
}

void Lowering::lower_read(ValueId value) {
    const ir::Inst& v = inst(value);
    if (v.op == Opcode::StatusClear) {
        call(KPL_H_status_clear, {HitArg{}});
        return take_result(value);
    }
    kpl_helper helper = v.imm == 1 ? KPL_H_read8 : v.imm == 2 ? KPL_H_read16 : v.imm == 4 ? KPL_H_read32 : KPL_H_read64;
    uint32_t site = call(helper, {HitArg{}, ValueArg{v.args[0]}});
    take_result(value);
    if (v.op != Opcode::Read) return;
    // A pointer is hardly ever 0, which is what a failure gives.
    const bool told = helper == KPL_H_read64 && uses_[value].count;
    if (!told) return trap(site);
    const mir::BlockId failed = new_block(), after = new_block();
    branch_if_zero(reg_of(value), failed, after);
    enter(failed);
    trap(site);
    emit({.kind = Kind::Jump, .yes = after});
    enter(after);
}

void Lowering::branch_if_zero(Reg reg, mir::BlockId yes, mir::BlockId no) {
    mir::Inst test{.kind = Kind::Branch};
    test.a = reg;
    test.yes = yes;
    test.no = no;
    emit(test);
}

void Lowering::lower_store(ValueId value) {
    const ir::Inst& v = inst(value);
    flush_loads(true);
    auto offset = static_cast<uint32_t>(v.imm);
    ValueId number = v.args[0];
    if (!is_const(number)) reg_of(number);
    if (v.op == Opcode::StoreSlot) return store(scratch(memory_.slot[v.slot] + offset, 8), number);
    if (v.op == Opcode::StoreReg) return store_reg(static_cast<int32_t>(offset), number);
    store({object(Object::Data), static_cast<int32_t>(offset)}, number);
}

// A register is stored to as a whole: a number that no instruction holds goes through one.
void Lowering::store_reg(int32_t offset, ValueId number) {
    if (is_const(number) && mir::fits_s32(inst(number).imm))
        return store_imm({object(Object::Regs), offset}, inst(number).imm);
    const Reg from = reg_of(number);
    emit({.kind = Kind::Store, .a = object(Object::Regs), .b = from, .off = offset});
}

bool Lowering::is_unused(const ir::StrRef& str) const {
    return str.where == ir::StrRef::Where::Slot && memory_.unused[str.index];
}

void Lowering::lower_call(ValueId value) {
    const ir::Inst& v = inst(value);
    for (const ir::Operand& operand : v.operands)  // what uses the string asks for it itself
        if (const auto* string = std::get_if<ir::StrOperand>(&operand); string && is_unused(string->str)) return;
    bool memory = false;
    std::vector<Arg> args;
    for (size_t i = 0; i < v.operands.size(); i++) {
        const ir::Operand& operand = v.operands[i];
        const auto* string = std::get_if<ir::StrOperand>(&operand);
        const auto* slot = std::get_if<ir::SlotOperand>(&operand);
        memory = memory || string || slot;
        if (!helper_writes(v.helper, i)) {
            if (string && string->str.where == StrRef::Where::Slot) store_literal(string->str.index);
            if (slot) store_literal(slot->slot);
        }
        args.push_back(std::visit(Overloaded{
                                      [](ValueId number) -> Arg { return ValueArg{number}; },
                                      [](ir::ConstOperand number) -> Arg { return ConstArg{number.value}; },
                                      [](ir::HitOperand) -> Arg { return HitArg{}; },
                                      [&](const ir::StrOperand& str) { return string_arg(str.str); },
                                      [&](ir::SlotOperand at) { return slot_arg(at.slot, at.offset); },
                                  },
                                  operand));
    }
    if (memory) flush_loads(true);
    uint32_t site = call(v.helper, args);
    if (v.helper == KPL_H_read_mem && v.stops) {
        // Its result is the reason to stop, or 0.
        Reg status = result();
        define(value, status);
        emit({.kind = Kind::Trap, .a = status, .site = site});
        return;
    }
    if (helper_has_result(v.helper)) take_result(value);
    if (v.stops && !always_fits(v)) trap(site);
}

Lowering::Arg Lowering::string_arg(const StrRef& str) {
    if (str.where == StrRef::Where::Data) return ObjectArg{Object::Data, str.index};
    return slot_arg(str.index, str.offset);
}

Lowering::Arg Lowering::slot_arg(ir::SlotId slot, uint32_t offset) {
    return ObjectArg{Object::Scratch, memory_.slot[slot] + offset};
}

// For accesses to `size` bytes from that offset.
Lowering::Address Lowering::scratch(uint32_t offset, uint32_t size) {
    if (offset + size <= max_displacement) return {object(Object::Scratch), static_cast<int32_t>(offset)};
    Reg reg = load(hit_, offsetof(kpl_hit, scratch), 8, mir::Holds::Pointer);
    alu(BPF_ADD, reg, {mir::no_reg, offset});
    return {reg, 0};
}

// Has a block that dominates this one, or this one, stored it?
bool Lowering::stores_literal(ir::SlotId slot) const {
    for (ir::BlockId block = ir_block_;; block = order_.idom[block]) {
        const auto& stored = literals_[block];
        if (std::find(stored.begin(), stored.end(), slot) != stored.end()) return true;
        if (block == order_.idom[block]) return false;
    }
}

// Makes sure that a literal is in its slot; nothing to do for other slots.
void Lowering::store_literal(ir::SlotId slot) {
    const ir::Slot& s = in_.slots[slot];
    if (!s.is_literal || stores_literal(slot)) return;
    const uint32_t size = KPL_STR_SIZE(s.literal.size());
    store_bytes(scratch(memory_.slot[slot], size), s.literal, size);
    literals_[ir_block_].push_back(slot);
}

}  // namespace kpl
