// SPDX-License-Identifier: MIT
// What the uses of values ask of them, in the words of the script.
#include "ir/build/builder.hpp"

namespace kpl::builder {

std::string Builder::describe(const Type& t) {
    std::string text;
    switch (t.kind) {
        case Kind::Undefined:
        case Kind::Poison: text = "an unknown value"; break;
        case Kind::Nil: text = "nil"; break;
        case Kind::Bool: text = "a boolean"; break;
        case Kind::Int:
            text = t.is_unsigned ? "an unsigned integer" : "an integer";
            if (t.shows == Shows::Symbol) text = "the address of a symbol";
            if (t.shows == Shows::Named) text = "a number that prints as a name";
            break;
        case Kind::Pointer: {
            const auto target = s_.types.spell(t.ctype);
            text = t.space == Space::User ? "a user pointer" : "a pointer";
            if (target.ok()) text += " to " + *target;
            break;
        }
        case Kind::String: text = "a string"; break;
        case Kind::Stack: text = "a stack"; break;
        case Kind::List: text = "a list"; break;
        case Kind::Inet: text = "an internet address"; break;
        case Kind::UserSymbol: text = "a symbol of the process"; break;
        case Kind::Snapshot: text = "a struct value of " + map_name(t.map); break;
        case Kind::Memory: {
            const auto type = s_.types.spell(t.ctype);
            text = type.ok() ? "a " + *type : "a C struct or array";
            if (t.space == Space::User) text += " of the process";
            break;
        }
        case Kind::Hit: text = "the hit (a handler's first parameter)"; break;
        case Kind::Args: text = "p.args"; break;
        case Kind::ArgNumbers: text = "p.arg"; break;
        case Kind::Regs: text = "p.regs"; break;
        case Kind::Data: text = "p.data"; break;
        case Kind::Map: text = "a map"; break;
        case Kind::Cell: text = "a cell of an aggregation, which only :add([n]) changes"; break;
        case Kind::Event: text = "an event"; break;
        case Kind::Builtin:
        case Kind::Method:
        case Kind::Function: text = "a function"; break;
        case Kind::Record:
        case Kind::Table: text = "a table"; break;
        case Kind::Float: text = "a number that is not an integer"; break;
        case Kind::Opaque: text = "a value that handlers can't use"; break;
    }
    if (t.nilable) text += " or nil";
    return text;
}

std::string Builder::describe(const Value& v) {
    if (v.is(Kind::Opaque) || v.is(Kind::Float)) return v.text;
    if (v.is(Kind::Nil) && !v.text.empty())
        return "nil ('" + v.text +
               (v.index == never_defined ? "' is not defined" + meant_by(v.text)
                                         : "' is nil where the handler is declared") +
               ")";
    if (v.is(Kind::Builtin)) return "the function '" + v.text + "' (" + v.text + "() calls it)";
    return describe(v.type);
}

bool Builder::usable(const Value& v, const std::string& use) {
    if (v.is_poison()) return false;
    if (v.is(Kind::Float)) {
        fail(Err::FLOAT, v.text);
        return false;
    }
    if (v.is(Kind::Nil)) {
        fail(Err::IS_NIL, use, describe(v));
        return false;
    }
    if (v.type.nilable) {
        fail(Err::MAYBE_NIL, v.text.empty() ? "this value" : "'" + v.text + "'");
        return false;
    }
    return true;
}

bool Builder::need_int(const Value& v, const std::string& use) {
    if (!usable(v, use)) return false;
    if (v.is(Kind::Int)) return true;
    if (v.is(Kind::Pointer))
        fail(Err::NEED_INT_NOT_POINTER, use, describe(v));
    else
        fail(Err::NEED_INT, use, describe(v));
    return false;
}

std::optional<int64_t> Builder::need_constant(const Value& v, const std::string& use) {
    if (!need_int(v, use)) return std::nullopt;
    if (!v.constant) {
        fail(Err::NEED_CONSTANT, use);
        return std::nullopt;
    }
    return v.constant;
}

bool Builder::need_string(const Value& v, const std::string& use) {
    if (!usable(v, use)) return false;
    if (v.is(Kind::String)) return true;
    if (v.is(Kind::Pointer) || v.is(Kind::Memory))
        fail(Err::NEED_STR, use, describe(v));
    else
        fail(Err::NEED_STRING, use, describe(v));
    return false;
}

bool Builder::soft() const {
    if (frame_->soft) return true;
    for (const SoftRegion& r : frame_->soft_regions)
        if (pc_ >= r.first && pc_ < r.call) return true;
    return false;
}

bool Builder::side_effect(const std::string& what) {
    if (!soft()) return true;
    fail(Err::TRY_EFFECT, what);
    return false;
}

}  // namespace kpl::builder
