// SPDX-License-Identifier: MIT
// Comparisons: what may be compared with what, and with which sign.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

Cmp unsigned_of(Cmp cmp) {
    switch (cmp) {
        case Cmp::SLt: return Cmp::ULt;
        case Cmp::SLe: return Cmp::ULe;
        case Cmp::SGt: return Cmp::UGt;
        case Cmp::SGe: return Cmp::UGe;
        default: return cmp;
    }
}

bool holds(Cmp cmp, int64_t a, int64_t b) {
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    switch (cmp) {
        case Cmp::Eq: return a == b;
        case Cmp::Ne: return a != b;
        case Cmp::SLt: return a < b;
        case Cmp::SLe: return a <= b;
        case Cmp::SGt: return a > b;
        case Cmp::SGe: return a >= b;
        case Cmp::ULt: return x < y;
        case Cmp::ULe: return x <= y;
        case Cmp::UGt: return x > y;
        case Cmp::UGe: return x >= y;
    }
    return false;
}

bool is_negative(const Value& v) { return v.constant && !v.type.is_unsigned && *v.constant < 0; }
bool is_zero(const Value& v) { return v.constant && *v.constant == 0; }
// One of them may be nil, and that makes them different.
bool equals_if_there(const Value& a, const Value& b) {
    const bool values = (a.is(Kind::Int) && b.is(Kind::Int)) || (a.is(Kind::String) && b.is(Kind::String));
    return values && a.type.nilable != b.type.nilable;
}
// Structs and arrays stand for their address, as in FFI.
bool is_address(const Value& v) { return v.is(Kind::Pointer) || v.is(Kind::Memory); }

}  // namespace

std::optional<Condition> Builder::compare(Cmp cmp, const Value& a, const Value& b) {
    if (!usable(a, "a comparison") || !usable(b, "a comparison")) return std::nullopt;
    if (a.is(Kind::Int) && b.is(Kind::Int)) return compare_integers(cmp, a, b);
    if (is_address(a) && is_address(b))
        return Condition{.cmp = unsigned_of(cmp), .a = address_of(a), .b = address_of(b)};
    if (a.is(Kind::String) && b.is(Kind::String))
        fail(Err::ORDER_STRINGS);
    else
        fail(Err::ORDER_TYPES, describe(a), describe(b));
    return std::nullopt;
}

std::optional<Condition> Builder::compare_integers(Cmp cmp, const Value& a, const Value& b) {
    const bool is_unsigned = a.type.is_unsigned || b.type.is_unsigned;
    if (is_unsigned && (is_negative(a) || is_negative(b))) {
        fail(Err::COMPARE_NEGATIVE, is_negative(a) ? *a.constant : *b.constant);
        return std::nullopt;
    }
    if (is_unsigned) cmp = unsigned_of(cmp);
    if (a.constant && b.constant) return Condition{.known = holds(cmp, *a.constant, *b.constant)};
    const bool below_zero =
        (is_zero(b) && (cmp == Cmp::ULt || cmp == Cmp::UGe)) || (is_zero(a) && (cmp == Cmp::UGt || cmp == Cmp::ULe));
    if (below_zero) s_.diag.warn(w_.line(), Warn::UNSIGNED_BELOW_ZERO);
    return Condition{.cmp = cmp, .a = num(a), .b = num(b)};
}

std::optional<Condition> Builder::equal(const Value& a, const Value& b, const std::string& name) {
    if (a.is_poison() || b.is_poison()) return std::nullopt;
    const Value& nil = a.is(Kind::Nil) ? a : b;
    if (nil.is(Kind::Nil) && nil.index == never_defined) {
        fail(Err::NOT_DEFINED, nil.text, meant_by(nil.text));
        return std::nullopt;
    }
    if (b.is(Kind::Nil)) return equal_nil(a, name);
    if (a.is(Kind::Nil)) return equal_nil(b, name);
    if (a.is(Kind::Bool) && b.is(Kind::Bool)) return equal_bools(a, b);
    if (equals_if_there(a, b)) return equal_if_there(a, b, name);
    if (a.is(Kind::Pointer) && b.is(Kind::Pointer) && (a.type.nilable || b.type.nilable))
        return Condition{.cmp = Cmp::Eq, .a = null_if_nil(a), .b = null_if_nil(b)};
    if (!usable(a, "a comparison") || !usable(b, "a comparison")) return std::nullopt;
    if (a.is(Kind::Int) && b.is(Kind::Int)) return compare_integers(Cmp::Eq, a, b);
    if (is_address(a) && is_address(b)) return Condition{.cmp = Cmp::Eq, .a = address_of(a), .b = address_of(b)};
    if (a.is(Kind::String) && b.is(Kind::String)) return equal_strings(a, b);
    const bool pointer_int = (a.is(Kind::Pointer) && b.is(Kind::Int)) || (a.is(Kind::Int) && b.is(Kind::Pointer));
    if (pointer_int)
        fail(Err::EQUAL_POINTER_INT);
    else if (is_address(a) && b.is(Kind::String))
        fail(Err::EQUAL_MEMORY_STRING, describe(a), str_reader(a), name.empty() ? "x" : name);
    else if (a.is(Kind::String) && is_address(b))
        fail(Err::EQUAL_MEMORY_STRING, describe(b), str_reader(b), b.text.empty() ? "x" : b.text);
    else
        fail(Err::EQUAL_TYPES, describe(a), describe(b));
    return std::nullopt;
}

// A pointer that is nil is as good as NULL: both equal nil.
ValueId Builder::null_if_nil(const Value& pointer) {
    if (!pointer.type.nilable) return num(pointer);
    return w_.binary(Opcode::And, num(pointer), w_.binary(Opcode::Sub, w_.constant(0), pointer.present));
}

// nil equals no number and no string.
std::optional<Condition> Builder::equal_if_there(const Value& a, const Value& b, const std::string& name) {
    const std::optional<Condition> same = equal(without_nil(a), without_nil(b), name);
    if (!same) return std::nullopt;
    const ValueId present = a.type.nilable ? a.present : b.present;
    return Condition{.cmp = Cmp::Eq, .a = w_.binary(Opcode::And, present, num(as_bool(*same))), .b = w_.constant(1)};
}

std::optional<Condition> Builder::equal_nil(const Value& v, const std::string& name) {
    const std::string what = name.empty() ? "this value" : "'" + name + "'";
    if (v.is(Kind::Nil)) return Condition{.known = true};
    if (v.is(Kind::Pointer)) {
        ValueId there = num(v);
        if (v.type.nilable) there = w_.binary(Opcode::And, v.present, w_.compare(Cmp::Ne, there, w_.constant(0)));
        return Condition{.cmp = Cmp::Eq, .a = there, .b = w_.constant(0)};
    }
    if (v.type.nilable) return Condition{.cmp = Cmp::Eq, .a = v.present, .b = w_.constant(0)};
    if (v.constant || v.literal) return Condition{.known = false};  // a captured setting
    switch (v.kind()) {
        case Kind::Int: fail(Err::INT_NIL, what, name.empty() ? "x" : name); return std::nullopt;
        case Kind::Bool:
        case Kind::String:
        case Kind::Stack:
        case Kind::Memory:
        case Kind::Snapshot: fail(Err::NEVER_NIL, what, describe(v)); return std::nullopt;
        default: return Condition{.known = false};
    }
}

// nil equals neither true nor false.
std::optional<Condition> Builder::equal_bools(const Value& a, const Value& b) {
    if (a.constant && b.constant && !a.type.nilable && !b.type.nilable)
        return Condition{.known = *a.constant == *b.constant};
    if (a.type.nilable && b.type.nilable) {
        fail(Err::MAYBE_NIL, "each side");
        return std::nullopt;
    }
    const ValueId different = w_.binary(Opcode::Xor, num(a), num(b));
    if (!a.type.nilable && !b.type.nilable) return Condition{.cmp = Cmp::Eq, .a = different, .b = w_.constant(0)};
    const ValueId present = a.type.nilable ? a.present : b.present;
    const ValueId absent = w_.binary(Opcode::Xor, present, w_.constant(1));
    return Condition{.cmp = Cmp::Eq, .a = w_.binary(Opcode::Or, different, absent), .b = w_.constant(0)};
}

std::optional<Condition> Builder::equal_strings(const Value& a, const Value& b) {
    if (a.literal && b.literal) return Condition{.known = a.text == b.text};
    const StrRef x = str_of(a), y = str_of(b);
    const ValueId eq =
        w_.call(KPL_H_str_eq, {StrOperand{x}, ConstOperand{x.limit}, StrOperand{y}, ConstOperand{y.limit}}, false);
    // Equal is "not 0" turned round so that negation swaps Eq and Ne.
    return Condition{.cmp = Cmp::Eq, .a = eq, .b = w_.constant(1)};
}

Value Builder::as_bool(const Condition& c) {
    if (c.known) return bool_constant(*c.known);
    return number(w_.compare(c.cmp, c.a, c.b), bool_type);
}

}  // namespace kpl::builder
