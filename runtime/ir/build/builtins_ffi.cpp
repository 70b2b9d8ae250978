// SPDX-License-Identifier: MIT
// ffi.cast, ffi.sizeof, ffi.offsetof.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

// user: the type is marked as a pointer into the process's memory. Other pointers stay what they were.
Value Builder::cast(TypeId type, bool user, const Value& v) {
    const auto t = ask(s_.types.resolve(type));
    if (!t) return poison();
    if (!v.is(Kind::Int) && !v.is(Kind::Pointer) && !v.is(Kind::Memory) && !v.is(Kind::Bool))
        return fail(Err::CAST_OF, describe(v));
    if (v.is(Kind::Memory)) {
        const auto from = ask(s_.types.resolve(v.type.ctype));
        if (!from) return poison();
        if (t->kind != TypeKind::Pointer) return fail(Err::CAST_MEMORY, describe(v));
    }
    const ValueId raw = v.is(Kind::Memory) ? address_of(v) : num(v);
    Value result;
    switch (t->kind) {
        case TypeKind::Pointer:
            result =
                number(raw, {.kind = Kind::Pointer, .ctype = t->element, .space = user ? Space::User : v.type.space});
            break;
        case TypeKind::Bool: result = number(w_.compare(Cmp::Ne, raw, w_.constant(0)), bool_type); break;
        case TypeKind::Int:
        case TypeKind::Char:
        case TypeKind::Enum:
            if (t->size > 8) return fail(Err::WIDE_INT, "ffi.cast");
            result = extend(raw, t->size, t->is_signed);
            break;
        default: {
            const auto spelt = s_.types.spell(type);
            return fail(Err::CAST_TO, spelt.ok() ? *spelt : "this type");
        }
    }
    result.text = v.text;
    return result;
}

Values Builder::b_cast(const BuiltinRow&, Values& args) {
    if (!usable(args[1], "ffi.cast") || args[0].is_poison()) return {poison()};
    if (!args[0].literal) return {fail(Err::TYPE_LITERAL, "ffi.cast")};
    const auto parsed = ask(s_.types.parse_declaration(args[0].text));
    if (!parsed) return {poison()};
    // A constant of a 64-bit type stays one.
    const auto t = ask(s_.types.resolve(parsed->type));
    if (t && args[1].constant && args[1].is(Kind::Int) && t->kind == TypeKind::Int && t->size == 8)
        return {int_constant(*args[1].constant, !t->is_signed)};
    return {cast(parsed->type, parsed->user, args[1])};
}

Values Builder::b_sizeof(const BuiltinRow&, Values& args) {
    const Value& v = args[0];
    if (v.is_poison()) return {poison()};
    TypeId type = v.type.ctype;
    if (v.literal) {
        const auto parsed = ask(s_.types.parse(v.text));
        if (!parsed) return {poison()};
        type = *parsed;
    } else if (v.is(Kind::Pointer)) {
        return {int_constant(8)};
    } else if (!v.is(Kind::Memory)) {
        return {fail(Err::TYPE_LITERAL, "ffi.sizeof")};
    }
    const auto size = size_of(type);
    if (!size) return {fail(Err::UNKNOWN_SIZE, v.literal ? v.text : describe(v))};
    return {int_constant(*size)};
}

Values Builder::b_offsetof(const BuiltinRow&, Values& args) {
    if (args[0].is_poison() || args[1].is_poison()) return {poison()};
    if (!args[0].literal || !args[1].literal) return {fail(Err::TYPE_LITERAL, "ffi.offsetof")};
    const auto type = ask(s_.types.parse(args[0].text));
    const auto t = type ? ask(s_.types.resolve(*type)) : std::nullopt;
    if (!t) return {poison()};
    if (t->kind != TypeKind::Struct && t->kind != TypeKind::Union)
        return {fail(Err::MEMBER, args[0].text, args[1].text)};
    const auto field = ask(s_.types.field(t->id, args[1].text));
    if (!field) return {poison()};
    if (!*field) return {fail(Err::NO_FIELD, args[0].text, args[1].text, near_members(t->id, args[1].text))};
    return {int_constant((**field).offset)};
}

}  // namespace kpl::builder
