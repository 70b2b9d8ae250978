// SPDX-License-Identifier: MIT
// Arithmetic of 64-bit integers as LuaJIT's cdata has it, and of pointers.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

constexpr const char* names[] = {"'+'", "'-'", "'*'", "'/'", "'%'"};

int64_t fold_division(bool modulo, bool is_unsigned, int64_t a, int64_t b) {
    if (is_unsigned) {
        const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
        return static_cast<int64_t>(modulo ? x % y : x / y);
    }
    if (b == -1) return modulo ? 0 : static_cast<int64_t>(-static_cast<uint64_t>(a));
    return modulo ? a % b : a / b;
}

}  // namespace

Value Builder::arith(Arith op, const Value& a, const Value& b) {
    const std::string use = names[static_cast<int>(op)];
    if (!usable(a, use) || !usable(b, use)) return poison();
    if (a.is(Kind::Int) && b.is(Kind::Int)) return integer_arith(op, a, b);
    const auto is_address = [](const Value& v) { return v.is(Kind::Pointer) || v.is(Kind::Memory); };
    if ((is_address(a) || is_address(b)) && (is_address(a) || a.is(Kind::Int)) && (is_address(b) || b.is(Kind::Int)))
        return pointer_arith(op, a, b);
    return fail(Err::NEED_INT, use, describe(a.is(Kind::Int) ? b : a));
}

Value Builder::integer_arith(Arith op, const Value& a, const Value& b) {
    const bool is_unsigned = a.type.is_unsigned || b.type.is_unsigned;
    if (op == Arith::Div || op == Arith::Mod) return divide(op, a, b, is_unsigned);
    if (a.constant && b.constant) {
        const uint64_t x = static_cast<uint64_t>(*a.constant), y = static_cast<uint64_t>(*b.constant);
        const uint64_t r = op == Arith::Add ? x + y : op == Arith::Sub ? x - y : x * y;
        return int_constant(static_cast<int64_t>(r), is_unsigned);
    }
    const Opcode code = op == Arith::Add ? Opcode::Add : op == Arith::Sub ? Opcode::Sub : Opcode::Mul;
    return binary(code, a, b, is_unsigned);
}

Value Builder::binary(Opcode op, const Value& a, const Value& b, bool is_unsigned) {
    const ValueId x = num(a), y = num(b);
    return number(w_.binary(op, x, y), is_unsigned ? uint_type : int_type);
}

Value Builder::divide(Arith op, const Value& a, const Value& b, bool is_unsigned) {
    const bool modulo = op == Arith::Mod;
    if (b.constant && *b.constant == 0) return fail(Err::DIVIDE_BY_ZERO);
    if (a.constant && b.constant)
        return int_constant(fold_division(modulo, is_unsigned, *a.constant, *b.constant), is_unsigned);
    const ValueId divisor = num(b);
    if (!b.constant) stop_if(Cmp::Eq, divisor, w_.constant(0), KPL_STOP_DIV_ZERO, "");
    const Opcode code = is_unsigned ? (modulo ? Opcode::UMod : Opcode::UDiv) : (modulo ? Opcode::SMod : Opcode::SDiv);
    return number(w_.binary(code, num(a), divisor), is_unsigned ? uint_type : int_type);
}

// p + n, n + p, p - n scale by the size of what p points to; p - q counts elements.
Value Builder::pointer_arith(Arith op, const Value& a, const Value& b) {
    const std::string use = names[static_cast<int>(op)];
    auto target_of = [&](const Value& v) -> std::optional<TypeId> {
        if (v.is(Kind::Pointer)) return v.type.ctype;
        const auto t = ask(s_.types.resolve(v.type.ctype));
        if (!t) return std::nullopt;
        return t->kind == TypeKind::Array ? t->element : t->id;
    };
    const Value& pointer = a.is(Kind::Int) ? b : a;
    const auto target = target_of(pointer);
    if (!target) return poison();
    const bool both = !a.is(Kind::Int) && !b.is(Kind::Int);
    if ((op != Arith::Add && op != Arith::Sub) || (both && op == Arith::Add) || (op == Arith::Sub && a.is(Kind::Int)))
        return fail(Err::NEED_INT_NOT_POINTER, use, describe(pointer));
    const auto resolved = ask(s_.types.resolve(*target));
    if (!resolved) return poison();
    const int64_t size = resolved->kind == TypeKind::Void ? 1 : resolved->size;
    if (size == 0) return fail(Err::UNKNOWN_SIZE, describe(pointer));
    if (both) {
        const auto other = target_of(b);
        if (!other) return poison();
        if (!same_pointee(*target, *other)) return fail(Err::POINTER_DIFFERENCE, describe(a), describe(b));
        const ValueId bytes = w_.binary(Opcode::Sub, address_of(a), address_of(b));
        return number(size == 1 ? bytes : w_.binary(Opcode::SDiv, bytes, w_.constant(size)), int_type);
    }
    const Value& count = a.is(Kind::Int) ? a : b;
    const ValueId base = address_of(pointer);
    Value result;
    result.type = {.kind = Kind::Pointer, .ctype = *target, .space = pointer.type.space};
    result.text = pointer.text;
    const ValueId n = num(count);
    const ValueId bytes = size == 1 ? n : w_.binary(Opcode::Mul, n, w_.constant(size));
    result.id = w_.binary(op == Arith::Add ? Opcode::Add : Opcode::Sub, base, bytes);
    return result;
}

Value Builder::negate(const Value& v) {
    if (!need_int(v, "unary '-'")) return poison();
    if (v.constant) return int_constant(static_cast<int64_t>(-static_cast<uint64_t>(*v.constant)), v.type.is_unsigned);
    return number(w_.unary(Opcode::Neg, num(v)), v.type.is_unsigned ? uint_type : int_type);
}

Value Builder::length(const Value& v) {
    if (v.is(Kind::List)) return list_length(v);
    if (v.is(Kind::Record)) {
        make_list(v, "itself");
        return poison();
    }
    if (!usable(v, "'#'")) return poison();
    if (v.is(Kind::Table)) {
        int64_t n = 0;
        while (!std::holds_alternative<Nil>(v.table->get(n + 1))) n++;
        return int_constant(n);
    }
    if (v.is(Kind::Memory) || v.is(Kind::Pointer)) return fail(Err::NEED_STR, "'#'", describe(v));
    if (!v.is(Kind::String) && !v.is(Kind::Stack)) return fail(Err::LENGTH, describe(v));
    if (v.literal) return int_constant(static_cast<int64_t>(v.text.size()));
    // The header of struct kpl_str: the length in its low half, and zero.
    const ValueId bytes =
        v.str.where == StrRef::Where::Data ? w_.load_data(v.str.index) : w_.load_slot(v.str.index, v.str.offset);
    if (!v.is(Kind::Stack)) return number(bytes, int_type);
    const ValueId words = w_.binary(Opcode::Shr, bytes, w_.constant(3));
    return number(v.type.user ? w_.binary(Opcode::Sub, words, w_.constant(1)) : words, int_type);
}

}  // namespace kpl::builder
