// SPDX-License-Identifier: MIT
// The kernel's C types: members, elements, and what a load of each type yields.
#include "ir/build/builder.hpp"
#include "symbols/nearest.hpp"

namespace kpl::builder {

using namespace ir;

ValueId Builder::offset_by(ValueId base, int64_t offset) {
    return offset == 0 ? base : w_.binary(Opcode::Add, base, w_.constant(offset));
}

ValueId Builder::address_of(const Value& v) { return v.is(Kind::Memory) ? offset_by(v.id, v.offset) : num(v); }

ValueId Builder::read(uint32_t size, const Address& at, const std::string& what) {
    const bool is_soft = soft();
    const ValueId address = offset_by(at.base, at.offset);
    if (at.space == Space::User)
        return w_.call(KPL_H_uread, {HitOperand{}, address, ConstOperand{size}}, !is_soft, what);
    return w_.append({.op = is_soft ? Opcode::SoftRead : Opcode::Read,
                      .stops = !is_soft,
                      .imm = size,
                      .args = {address},
                      .what = what});
}

// C integers narrower than 64 bits widen by value to int64_t.
Value Builder::extend(ValueId raw, uint32_t size, bool is_signed) {
    if (size == 8) return number(raw, is_signed ? int_type : uint_type);
    return number(w_.unary(is_signed ? Opcode::SExt : Opcode::ZExt, raw, size * 8), int_type);
}

// What is read through a pointer into the process's memory points there, too. A pointer in the kernel's memory may
// point to either.
Value Builder::load(const Address& at, TypeId type, const Field* bits, const std::string& path) {
    const auto t = ask(s_.types.resolve(type));
    if (!t) return poison();
    switch (t->kind) {
        case TypeKind::Struct:
        case TypeKind::Union:
        case TypeKind::Array: return memory(at.base, at.offset, type, at.space, path);
        case TypeKind::Pointer: {
            const Space space = at.space == Space::User ? Space::User : Space::Unknown;
            Value v = number(read(8, at, path), {.kind = Kind::Pointer, .ctype = t->element, .space = space});
            v.text = path;
            return v;
        }
        case TypeKind::Int:
        case TypeKind::Bool:
        case TypeKind::Char:
        case TypeKind::Enum: return load_number(at, *t, bits, path);
        case TypeKind::Float: return fail(Err::C_FLOAT, path);
        case TypeKind::Void:
        case TypeKind::Function:
        case TypeKind::Forward: break;
    }
    return fail(Err::UNKNOWN_SIZE, path);
}

Value Builder::load_number(const Address& at, const TypeInfo& t, const Field* bits, const std::string& path) {
    Value v;
    if (bits && bits->bit_size) {
        const ValueId raw = read(bits->bit_bytes, at, path);
        const ValueId up = w_.binary(Opcode::Shl, raw, w_.constant(64 - bits->bit_offset - bits->bit_size));
        v = number(w_.binary(t.is_signed ? Opcode::Sar : Opcode::Shr, up, w_.constant(64 - bits->bit_size)), int_type);
        if (t.size == 8 && !t.is_signed && bits->bit_size == 64) v.type = uint_type;
    } else {
        if (t.size != 1 && t.size != 2 && t.size != 4 && t.size != 8) return fail(Err::WIDE_INT, path);
        const ValueId raw = read(t.size, at, path);
        // Reads yield zero-extended values.
        v = t.is_signed || t.size == 8 ? extend(raw, t.size, t.is_signed) : number(raw, int_type);
    }
    if (t.kind == TypeKind::Bool) v = number(w_.compare(Cmp::Ne, v.id, w_.constant(0)), bool_type);
    v.text = path;
    return v;
}

std::string Builder::near_members(TypeId type, const std::string& name) {
    const auto near = s_.types.near_fields(type, name);
    return near.ok() ? did_you_mean(*near) : std::string();
}

Value Builder::member(const Value& v, const std::string& name, const std::string& path) {
    const bool pointer = v.is(Kind::Pointer);
    const auto t = ask(s_.types.resolve(v.type.ctype));
    if (!t) return poison();
    if (t->kind == TypeKind::Forward) return fail(Err::FORWARD, describe(v), name);
    if (t->kind != TypeKind::Struct && t->kind != TypeKind::Union) {
        if (pointer && t->kind == TypeKind::Void) return fail(Err::VOID_POINTER, path.empty() ? "x" : path);
        return fail(Err::MEMBER, describe(v), name);
    }
    const auto field = ask(s_.types.field(t->id, name));
    if (!field) return poison();
    if (!*field) {
        const auto spelt = s_.types.spell(t->id);
        return fail(Err::NO_FIELD, spelt.ok() ? *spelt : t->name, name, near_members(t->id, name));
    }
    const std::string reached = path.empty() ? name : path + "." + name;
    const int64_t offset = (pointer ? 0 : v.offset) + (**field).offset;
    return load({v.id, offset, v.type.space}, (**field).type, &**field, reached);
}

std::optional<uint32_t> Builder::size_of(TypeId type) {
    const auto t = ask(s_.types.resolve(type));
    if (!t) return std::nullopt;
    if (t->size == 0 && t->kind != TypeKind::Struct && t->kind != TypeKind::Union) return std::nullopt;
    return t->size;
}

Value Builder::element(const Value& v, const Value& index, const std::string& path) {
    if (!need_int(index, "an index")) return poison();
    TypeId type = v.type.ctype;
    int64_t offset = 0;
    if (v.is(Kind::Memory)) {
        const auto t = ask(s_.types.resolve(type));
        if (!t) return poison();
        if (t->kind != TypeKind::Array) return fail(Err::INDEX, describe(v));
        if (index.constant && t->count && (*index.constant < 0 || *index.constant >= t->count))
            return fail(Err::OUT_OF_BOUNDS, *index.constant, t->count);
        type = t->element;
        offset = v.offset;
    }
    const auto size = size_of(type);
    if (!size || *size == 0) {
        const auto t = s_.types.resolve(type);
        if (t.ok() && t->kind == TypeKind::Void) return fail(Err::VOID_POINTER, v.text.empty() ? "x" : v.text);
        return fail(Err::UNKNOWN_SIZE, describe(v));
    }
    if (index.constant) return load({v.id, offset + *index.constant * *size, v.type.space}, type, nullptr, path);
    const ValueId bytes = *size == 1 ? num(index) : w_.binary(Opcode::Mul, num(index), w_.constant(*size));
    return load({w_.binary(Opcode::Add, v.id, bytes), offset, v.type.space}, type, nullptr, path);
}

// A parameter or a result as the calling convention passes it: above the type's size, registers hold garbage.
Value Builder::from_register(ValueId raw, TypeId type, const std::string& name) {
    const auto t = ask(s_.types.resolve(type));
    if (!t) return poison();
    Value v;
    switch (t->kind) {
        case TypeKind::Pointer:
            v = number(raw, {.kind = Kind::Pointer,
                             .ctype = t->element,
                             .space = decl_.user_pointers ? Space::User : Space::Unknown});
            break;
        case TypeKind::Bool:
            v = number(w_.compare(Cmp::Ne, w_.unary(Opcode::ZExt, raw, 8), w_.constant(0)), bool_type);
            break;
        case TypeKind::Int:
        case TypeKind::Char:
        case TypeKind::Enum:
            if (t->size > 8) return named(Kind::Opaque, "'" + name + "', an integer of over 64 bits");
            v = extend(raw, t->size, t->is_signed);
            break;
        case TypeKind::Void: return named(Kind::Opaque, "'" + name + "', as the function returns nothing");
        default: return named(Kind::Opaque, "'" + name + "', which is passed by value");
    }
    v.text = name;
    return v;
}

}  // namespace kpl::builder
