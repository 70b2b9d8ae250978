// SPDX-License-Identifier: MIT
// Where paths meet, a variable has one type: the values of all paths are brought to it, in the blocks they
// come from.
#include <algorithm>

#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

std::string of_variable(const std::string& name) { return name.empty() ? "this value" : "'" + name + "'"; }

}  // namespace

bool Builder::mergeable(Kind kind) {
    switch (kind) {
        case Kind::Nil:
        case Kind::Bool:
        case Kind::Int:
        case Kind::Pointer:
        case Kind::String:
        case Kind::Memory: return true;
        default: return false;
    }
}

Value Builder::merge(const Meeting& m) {
    // A value that is not known (yet) takes the type of the others.
    std::vector<Value> known;
    for (const Value& v : m.values)
        if (!v.is_poison()) known.push_back(v);
    if (known.empty()) return poison();
    const Value& first = known[0];
    const bool all_same = std::all_of(known.begin(), known.end(), [&](const Value& v) { return same(v, first); });
    if (all_same && known.size() == m.values.size() && (!m.force || !mergeable(first.kind()))) return first;
    const std::optional<Type> type = joined_type(known, m.hint, m.name);
    if (!type) return poison();
    Value v;
    v.type = *type;
    if (type->kind == Kind::Nil) return v;
    v.text = m.name;
    if (stays_in_place(*type)) return merge_in_place(m, known, *type);
    if (!mergeable(type->kind)) return first;
    if (type->kind == Kind::String) {
        v.str = {.index = w_.new_slot(KPL_STR_SIZE(type->limit)), .limit = type->limit};
        for (size_t i = 0; i < m.values.size(); i++) copy_string_in(m.from[i], v.str, m.values[i]);
    } else {
        std::vector<ValueId> args;
        for (size_t i = 0; i < m.values.size(); i++) args.push_back(number_in(m.from[i], m.values[i]));
        v.id = w_.phi(m.into, std::move(args));
    }
    if (type->nilable) {
        std::vector<ValueId> args;
        for (size_t i = 0; i < m.values.size(); i++) args.push_back(presence_in(m.from[i], m.values[i]));
        v.present = w_.phi(m.into, std::move(args));
    }
    return v;
}

// Values that stay where they are: nil may join them, nothing else. Carried round a loop they would change
// below the variable that holds them.
Value Builder::merge_in_place(const Meeting& m, const std::vector<Value>& known, const Type& type) {
    const Value* stays = nullptr;
    bool differ = m.force;
    for (const Value& v : known) {
        if (v.is(Kind::Nil)) continue;
        if (stays && (stays->index != v.index || !(stays->str == v.str))) differ = true;
        stays = &v;
    }
    if (differ) return fail(Err::JOIN_OBJECTS, of_variable(m.name), describe(type));
    Value merged = *stays;
    merged.type = type;
    merged.present = no_value;
    if (!type.nilable) return merged;
    std::vector<ValueId> args;
    for (size_t i = 0; i < m.values.size(); i++) args.push_back(presence_in(m.from[i], m.values[i]));
    merged.present = w_.phi(m.into, std::move(args));
    return merged;
}

std::optional<Type> Builder::joined_type(const std::vector<Value>& values, const Type* hint, const std::string& name) {
    Type type{Kind::Nil};
    bool nilable = hint && (hint->nilable || hint->kind == Kind::Nil);
    bool integers = false;
    // The kernel's and the process's addresses are read in different ways.
    auto same_memory = [&](const Type& t) {
        const Space low = std::min(type.space, t.space), high = std::max(type.space, t.space);
        type.space = high;
        return low != Space::Kernel || high != Space::User;
    };
    auto join = [&](const Type& t) {
        nilable |= t.nilable || t.kind == Kind::Nil;
        if (t.kind == Kind::Nil) return true;
        Type plain = t;
        plain.nilable = false;
        if (type.kind == Kind::Nil) {
            type = plain;
            return true;
        }
        if (stays_in_place(t) && type.kind == t.kind) return type == plain;
        // A struct that meets a pointer to such a struct is its address.
        const bool addresses = (type.kind == Kind::Pointer && t.kind == Kind::Memory) ||
                               (type.kind == Kind::Memory && t.kind == Kind::Pointer);
        if (addresses && same_pointee(type.ctype, t.ctype)) {
            type.kind = Kind::Pointer;
            return same_memory(t);
        }
        if (type.kind != t.kind || !mergeable(t.kind)) return type == plain;
        type.limit = std::max(type.limit, t.limit);
        integers |= t.kind == Kind::Int;
        if (t.kind == Kind::Pointer || t.kind == Kind::Memory)
            return same_pointee(type.ctype, t.ctype) && same_memory(t);
        return true;
    };
    if (hint && !join(*hint)) return std::nullopt;
    for (const Value& v : values) {
        const Type before = type;
        if (join(v.type)) continue;
        const bool boolean = before.kind == Kind::Bool || v.is(Kind::Bool);
        if (v.is(before.kind) && !mergeable(v.kind()))
            fail(Err::JOIN_OBJECTS, of_variable(name), describe(v));
        else if (boolean)
            fail(Err::JOIN_BOOL, of_variable(name), describe(before), describe(v.type));
        else
            fail(Err::JOIN_TYPES, of_variable(name), describe(before), describe(v.type));
        return std::nullopt;
    }
    if (type.kind == Kind::Int) {
        const std::optional<Type> t = joined_integers(values, hint, name);
        if (!t) return std::nullopt;
        type = *t;
    }
    if (nilable && type.kind == Kind::Memory && !becomes_pointer(type)) {
        fail(Err::JOIN_TYPES, of_variable(name), describe(type), "nil");
        return std::nullopt;
    }
    if (type.kind != Kind::Nil && !stays_in_place(type) && !mergeable(type.kind)) {
        // A map, a function, a struct value: only the very same thing may come in on every path.
        const bool all_same =
            std::all_of(values.begin(), values.end(), [&](const Value& v) { return same(v, values[0]); });
        if (!all_same) {
            fail(Err::JOIN_OBJECTS, of_variable(name), describe(type));
            return std::nullopt;
        }
        return values[0].type;
    }
    type.nilable = nilable && type.kind != Kind::Nil;
    return type;
}

// Literals take the sign of what they meet.
std::optional<Type> Builder::joined_integers(const std::vector<Value>& values, const Type* hint,
                                             const std::string& name) {
    bool has_signed = false, has_unsigned = hint && hint->is_unsigned, negative = false;
    std::optional<Shows> shows;
    std::optional<uint32_t> naming;
    for (const Value& v : values) {
        if (!v.is(Kind::Int)) continue;
        if (v.type.is_unsigned)
            has_unsigned = true;
        else if (!v.constant)
            has_signed = true;
        else
            negative |= *v.constant < 0;
        shows = (!shows || *shows == v.type.shows) && naming.value_or(v.type.naming) == v.type.naming ? v.type.shows
                                                                                                      : Shows::Plain;
        naming = v.type.naming;
    }
    if (has_unsigned && (has_signed || negative)) {
        fail(Err::JOIN_SIGN, of_variable(name));
        return std::nullopt;
    }
    if (hint && hint->kind == Kind::Int && shows && (hint->shows != *shows || hint->naming != naming))
        shows = Shows::Plain;
    Type type{.kind = Kind::Int, .is_unsigned = has_unsigned, .shows = shows.value_or(Shows::Plain)};
    if (type.shows == Shows::Named) type.naming = *naming;
    return type;
}

// A struct that may be nil is a pointer that may be nil.
bool Builder::becomes_pointer(Type& type) {
    const auto t = ask(s_.types.resolve(type.ctype));
    if (!t || (t->kind != TypeKind::Struct && t->kind != TypeKind::Union)) return false;
    type.kind = Kind::Pointer;
    return true;
}

bool Builder::same_pointee(TypeId a, TypeId b) {
    if (a == b) return true;
    const auto x = ask(s_.types.resolve(a)), y = ask(s_.types.resolve(b));
    return x && y && x->id == y->id;
}

ValueId Builder::number_in(BlockId block, const Value& v) {
    if (v.constant) return w_.constant_in(block, *v.constant);
    if (v.is(Kind::Memory) && v.offset != 0) {
        const ValueId offset = w_.constant_in(block, v.offset);
        return w_.append_to(block, {.op = Opcode::Add, .args = {v.id, offset}});
    }
    if (v.id == no_value) return w_.constant_in(block, 0);  // nil, or poison that was reported
    return v.id;
}

ValueId Builder::presence_in(BlockId block, const Value& v) {
    if (v.present != no_value) return v.present;
    return w_.constant_in(block, v.is(Kind::Nil) ? 0 : 1);
}

// Nil leaves an empty string, so that the slot is always sound.
void Builder::copy_string_in(BlockId block, const StrRef& to, const Value& v) {
    if (v.is_poison()) return;
    if (v.is(Kind::Nil)) {
        w_.store_slot_in(block, to.index, to.offset, w_.constant_in(block, 0));
        return;
    }
    const StrRef from = str_of(v);
    if (from == to) return;
    w_.append_to(block, {.op = Opcode::Call,
                         .stops = true,
                         .helper = KPL_H_str_copy,
                         .operands = {HitOperand{}, StrOperand{to}, ConstOperand{to.limit}, StrOperand{from},
                                      ConstOperand{from.limit}}});
}

}  // namespace kpl::builder
