// SPDX-License-Identifier: MIT
#include "ir/build/value.hpp"

namespace kpl::builder {

bool same(const Value& a, const Value& b) {
    return a.type == b.type && a.id == b.id && a.present == b.present && a.constant == b.constant &&
           a.offset == b.offset && a.str == b.str && a.literal == b.literal && a.index == b.index &&
           (a.type.kind == Kind::Builtin || a.type.kind == Kind::Method || a.literal ? a.text == b.text : true) &&
           (a.function == b.function || (a.function && b.function && a.function->ref && b.function->ref &&
                                         a.function->ref->identity() == b.function->ref->identity())) &&
           (a.table == b.table || (a.table && b.table && a.table->identity() == b.table->identity())) && a.key == b.key;
}

Value poison() { return {.type = {Kind::Poison}}; }
Value nil_value() { return {.type = {Kind::Nil}}; }
Value bool_constant(bool b) { return {.type = bool_type, .constant = b}; }
Value int_constant(int64_t n, bool is_unsigned) { return {.type = is_unsigned ? uint_type : int_type, .constant = n}; }
Value number(ir::ValueId id, Type type) { return {.type = type, .id = id}; }

Value memory(ir::ValueId base, int64_t offset, TypeId type, Space space, std::string path) {
    return {.type = {.kind = Kind::Memory, .ctype = type, .space = space},
            .id = base,
            .offset = offset,
            .text = std::move(path)};
}

Value named(Kind kind, std::string text, uint32_t index) {
    return {.type = {kind}, .index = index, .text = std::move(text)};
}

const char* str_reader(const Value& v) { return v.type.space == Space::User ? "ustr" : "str"; }

Value without_nil(Value v) {
    v.type.nilable = false;
    v.present = ir::no_value;
    return v;
}

}  // namespace kpl::builder
