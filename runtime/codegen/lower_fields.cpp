// SPDX-License-Identifier: MIT
// Records, keys and values: numbers and strings at their offsets.
#include <linux/bpf.h>

#include <cstddef>
#include <cstring>

#include "codegen/lowering.hpp"

namespace kpl {

using ir::FieldStore;
using ir::Opcode;
using ir::StrRef;
using mir::Kind;

void Lowering::store(Address to, ValueId value) {
    if (is_const(value)) return store_imm(to, inst(value).imm);
    emit({.kind = Kind::Store, .a = to.reg, .b = reg_of(value), .off = to.off});
}

void Lowering::store_imm(Address to, int64_t imm) {
    if (mir::fits_s32(imm)) {
        emit({.kind = Kind::Store, .a = to.reg, .off = to.off, .imm = imm});
        return;
    }
    auto half = [&](int32_t off, int64_t bits) {
        emit({.kind = Kind::Store, .size = 4, .a = to.reg, .off = to.off + off, .imm = static_cast<int32_t>(bits)});
    };
    half(0, imm);
    half(4, imm >> 32);
}

// A struct kpl_str of `size` bytes with these bytes.
void Lowering::store_bytes(Address to, const std::string& bytes, uint32_t size) {
    store_imm(to, static_cast<int64_t>(bytes.size()));
    for (uint32_t at = 0; at + 8 < size; at += 8) {
        int64_t word = 0;
        if (at < bytes.size()) memcpy(&word, bytes.data() + at, std::min<size_t>(8, bytes.size() - at));
        store_imm({to.reg, to.off + 8 + static_cast<int32_t>(at)}, word);
    }
}

// Everything but strings that a helper writes: numbers, literals, and zeros for what is nil or between
// fields. record: strings are struct kpl_rec_str, which rec_str writes. skip: index of a field that is
// written already.
void Lowering::store_numbers(const std::vector<FieldStore>& fields, uint32_t size, Address base, int skip,
                             bool record) {
    std::vector<bool> written(size / 8);
    auto at = [&](uint32_t offset) { return Address{base.reg, base.off + static_cast<int32_t>(offset)}; };
    auto mark = [&](uint32_t offset, uint32_t bytes) {
        for (uint32_t end = offset + bytes; offset < end && offset / 8 < written.size(); offset += 8)
            written[offset / 8] = true;
    };
    for (size_t i = 0; i < fields.size(); i++) {
        const FieldStore& field = fields[i];
        if (std::holds_alternative<std::monostate>(field.value)) continue;
        mark(field.offset, record ? 8 : field_size(field));
        if (static_cast<int>(i) == skip) continue;
        if (const auto* value = std::get_if<ValueId>(&field.value))
            store(at(field.offset), *value);
        else if (const std::string* literal = record ? nullptr : inline_literal(in_, field))
            store_bytes(at(field.offset), *literal, field_size(field));
    }
    for (uint32_t word = 0; word < written.size(); word++)
        if (!written[word]) store_imm(at(word * 8), 0);
}

// Strings that are not in their field yet. One that is longer than the field's limit stops the handler, unless `soft`.
void Lowering::copy_strings(const std::vector<FieldStore>& fields, const Memory& memory, bool soft) {
    for (size_t i = 0; i < fields.size(); i++) {
        const FieldStore& field = fields[i];
        const auto* str = std::get_if<StrRef>(&field.value);
        if (!str || static_cast<int>(i) == memory.in_place || inline_literal(in_, field)) continue;
        if (str->where == StrRef::Where::Slot) store_literal(str->index);
        uint32_t site = call(KPL_H_str_copy, {HitArg{}, ObjectArg{Object::Scratch, memory.offset + field.offset},
                                              ConstArg{field.limit}, string_arg(*str), ConstArg{str->limit}});
        if (str->limit > field.limit && !soft) trap(site);
    }
}

// A key or a value in its memory; the argument that points to it.
Lowering::Arg Lowering::build(const std::vector<FieldStore>& fields, uint32_t size, const Memory& memory, bool soft) {
    switch (memory.where) {
        case Memory::Where::Nowhere:
        case Memory::Where::Comm: return ConstArg{0};
        case Memory::Where::Stack:
            store_numbers(fields, size, {mir::frame, memory.offset}, memory.in_place, false);
            return StackArg{memory.offset};
        case Memory::Where::Scratch: break;
    }
    copy_strings(fields, memory, soft);
    const bool whole = memory.in_place >= 0 && field_size(fields[memory.in_place]) == size;
    if (!whole) store_numbers(fields, size, scratch(memory.offset, size), memory.in_place, false);
    return ObjectArg{Object::Scratch, static_cast<uint32_t>(memory.offset)};
}

void Lowering::lower_map(ValueId value) {
    const ir::Inst& v = inst(value);
    flush_loads(true);
    // A value's strings may take calls: it is built before the key, whose numbers then need not outlive them.
    Arg other = ConstArg{0};
    if (v.op == Opcode::MapSet) other = build(v.value_fields, v.value_size, memory_.value[value], false);
    Arg key = build(v.fields, v.size, memory_.key[value], v.soft);
    switch (v.op) {
        case Opcode::AggAdd:
            if (memory_.key[value].where == Memory::Where::Comm) {
                call(KPL_H_agg_add_comm, {HitArg{}, MapArg{v.imm}, ValueArg{v.args[0]}});
                break;
            }
            call(KPL_H_agg_add, {HitArg{}, MapArg{v.imm}, key, ValueArg{v.args[0]}});
            break;
        case Opcode::MapAdd: call(KPL_H_map_add, {HitArg{}, MapArg{v.imm}, key, ValueArg{v.args[0]}}); break;
        case Opcode::MapGet: call(KPL_H_map_get, {HitArg{}, MapArg{v.imm}, key, slot_arg(v.slot, 0)}); break;
        case Opcode::MapSet: call(KPL_H_map_set, {HitArg{}, MapArg{v.imm}, key, other}); break;
        default: call(KPL_H_map_delete, {HitArg{}, MapArg{v.imm}, key}); break;
    }
    take_result(value);
}

// Everything is evaluated before the record is begun, or can't fail, but for the strings that it reads itself. A record
// that is lost is passed over.
void Lowering::lower_emit(ValueId value) {
    const ir::Inst& v = inst(value);
    uint32_t tail = 0;
    bool reads = false;
    for (const FieldStore& field : v.fields) {
        const auto* str = std::get_if<StrRef>(&field.value);
        if (!str) continue;
        tail += (str->limit + 7) & ~7u;
        const ir::Inst* read = reader(*str);
        reads = reads || read;
        if (read)
            keep(address_of(*read));
        else if (str->where == StrRef::Where::Slot)
            store_literal(str->index);
    }
    flush_loads(false);  // others would be computed on one way only
    call(KPL_H_rec_begin, {HitArg{}, ConstArg{v.imm}, ConstArg{v.size}, ConstArg{tail}});
    Reg record = out_.new_vreg(mir::Holds::Pointer);
    move_reg(record, 0);
    mir::BlockId filled = new_block(), after = new_block(), lost = reads ? new_block() : after;
    branch_if_zero(record, lost, filled);
    if (reads) {
        enter(lost);
        read_lost(v);
        emit({.kind = Kind::Jump, .yes = after});
    }
    enter(filled);
    fill_record(v, record, after);
    emit({.kind = Kind::Jump, .yes = after});
    enter(after);
}

void Lowering::fill_record(const ir::Inst& emit, Reg record, mir::BlockId after) {
    set_note(emit.at, emit.what);
    store_numbers(emit.fields, emit.size, {record, 0}, -1, true);
    for (const FieldStore& field : emit.fields) {
        const auto* str = std::get_if<StrRef>(&field.value);
        if (!str) continue;
        if (const ir::Inst* read = reader(*str))
            read_string(*read, record, field.offset, after);
        else
            call(KPL_H_rec_str,
                 {HitArg{}, RegArg{record}, ConstArg{field.offset}, string_arg(*str), ConstArg{str->limit}});
    }
    set_note(emit.at, emit.what);
    call(KPL_H_rec_end, {HitArg{}, RegArg{record}});
}

// The call of str that reads this string, if a record reads it itself.
const ir::Inst* Lowering::reader(const StrRef& str) const {
    if (str.where != StrRef::Where::Slot) return nullptr;
    const ValueId call = memory_.reader[str.index];
    return call == ir::no_value ? nullptr : &inst(call);
}

ir::ValueId Lowering::address_of(const ir::Inst& str) { return std::get<ValueId>(str.operands[3]); }

// What can't be read stops the handler, as at str: the record is given up.
void Lowering::read_string(const ir::Inst& str, Reg record, uint32_t offset, mir::BlockId after) {
    set_note(str.at, str.what);
    const auto limit = std::get<ir::StrOperand>(str.operands[1]).str.limit;
    const uint32_t site = call(
        KPL_H_rec_read_str, {HitArg{}, RegArg{record}, ConstArg{offset}, ConstArg{limit}, ValueArg{address_of(str)}});
    const mir::BlockId failed = new_block(), read = new_block();
    branch_if_zero(result(), failed, read);
    enter(failed);
    call(KPL_H_rec_drop, {HitArg{}, RegArg{record}});
    trap(site);
    emit({.kind = Kind::Jump, .yes = after});
    enter(read);
}

// There is no room for the record: what can't be read stops the handler all the same. Its first byte tells.
void Lowering::read_lost(const ir::Inst& emit) {
    for (const FieldStore& field : emit.fields) {
        const auto* str = std::get_if<StrRef>(&field.value);
        const ir::Inst* read = str ? reader(*str) : nullptr;
        if (!read) continue;
        set_note(read->at, read->what);
        trap(call(KPL_H_read8, {HitArg{}, ValueArg{address_of(*read)}}));
    }
}

}  // namespace kpl
