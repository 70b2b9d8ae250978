// SPDX-License-Identifier: MIT
// bit.*: on 64 bits, as LuaJIT's bit operations on cdata.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

uint64_t fold(Opcode op, uint64_t a, uint64_t b) {
    switch (op) {
        case Opcode::And: return a & b;
        case Opcode::Or: return a | b;
        case Opcode::Xor: return a ^ b;
        case Opcode::Shl: return a << (b & 63);
        case Opcode::Shr: return a >> (b & 63);
        default: return static_cast<uint64_t>(static_cast<int64_t>(a) >> (b & 63));
    }
}

uint64_t bits(const Value& v) { return static_cast<uint64_t>(*v.constant); }

}  // namespace

Values Builder::b_bit_fold(const BuiltinRow& row, Values& args) {
    const auto op = static_cast<Opcode>(row.param);
    Value result;
    for (size_t i = 0; i < args.size(); i++) {
        if (!need_int(args[i], row.name)) return {poison()};
        if (i == 0) {
            result = args[0];
            result.type = result.type.is_unsigned ? uint_type : int_type;
            continue;
        }
        const bool is_unsigned = result.type.is_unsigned || args[i].type.is_unsigned;
        if (result.constant && args[i].constant)
            result = int_constant(static_cast<int64_t>(fold(op, bits(result), bits(args[i]))), is_unsigned);
        else
            result = binary(op, result, args[i], is_unsigned);
    }
    result.text.clear();
    return {result};
}

Values Builder::b_bit_not(const BuiltinRow& row, Values& args) {
    if (!need_int(args[0], row.name)) return {poison()};
    if (args[0].constant) return {int_constant(~*args[0].constant, args[0].type.is_unsigned)};
    return {number(w_.unary(Opcode::Not, num(args[0])), args[0].type.is_unsigned ? uint_type : int_type)};
}

// Only the low six bits of a count matter; the result has the type of what is shifted.
Values Builder::b_bit_shift(const BuiltinRow& row, Values& args) {
    if (!need_int(args[0], row.name) || !need_int(args[1], row.name)) return {poison()};
    const auto op = static_cast<Opcode>(row.param);
    const bool is_unsigned = args[0].type.is_unsigned;
    if (args[0].constant && args[1].constant)
        return {int_constant(static_cast<int64_t>(fold(op, bits(args[0]), bits(args[1]))), is_unsigned)};
    const Value count =
        args[1].constant ? int_constant(*args[1].constant & 63) : binary(Opcode::And, args[1], int_constant(63), false);
    return {binary(op, args[0], count, is_unsigned)};
}

Values Builder::b_bit_rotate(const BuiltinRow& row, Values& args) {
    if (!need_int(args[0], row.name) || !need_int(args[1], row.name)) return {poison()};
    const bool left = row.param == 1;
    const bool is_unsigned = args[0].type.is_unsigned;
    Value count, back;
    if (args[1].constant) {
        const int64_t n = *args[1].constant & 63;
        count = int_constant(n);
        back = int_constant((64 - n) & 63);
    } else {
        count = binary(Opcode::And, args[1], int_constant(63), false);
        back = binary(Opcode::And, number(w_.unary(Opcode::Neg, num(args[1])), int_type), int_constant(63), false);
    }
    const Value one = binary(left ? Opcode::Shl : Opcode::Shr, args[0], count, is_unsigned);
    const Value other = binary(left ? Opcode::Shr : Opcode::Shl, args[0], back, is_unsigned);
    return {binary(Opcode::Or, one, other, is_unsigned)};
}

// Swaps neighbouring bytes, then pairs, then halves.
Values Builder::b_bit_swap(const BuiltinRow& row, Values& args) {
    if (!need_int(args[0], row.name)) return {poison()};
    struct Step {
        int64_t shift;
        uint64_t mask;
    };
    constexpr Step steps[] = {{8, 0x00ff00ff00ff00ff}, {16, 0x0000ffff0000ffff}, {32, 0x00000000ffffffff}};
    const bool is_unsigned = args[0].type.is_unsigned;
    Value v = args[0];
    for (const Step& step : steps) {
        const Value shift = int_constant(step.shift), mask = int_constant(static_cast<int64_t>(step.mask));
        const Value low = binary(Opcode::Shl, binary(Opcode::And, v, mask, is_unsigned), shift, is_unsigned);
        const Value high = binary(Opcode::And, binary(Opcode::Shr, v, shift, is_unsigned), mask, is_unsigned);
        v = binary(Opcode::Or, low, high, is_unsigned);
    }
    return {v};
}

// The low 32 bits, as the signed number that they are in Lua.
Values Builder::b_bit_tobit(const BuiltinRow& row, Values& args) {
    if (!need_int(args[0], row.name)) return {poison()};
    if (args[0].constant) return {int_constant(static_cast<int32_t>(*args[0].constant))};
    return {number(w_.unary(Opcode::SExt, num(args[0]), 32), int_type)};
}

}  // namespace kpl::builder
