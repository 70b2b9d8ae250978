// SPDX-License-Identifier: MIT
// Changing what runs: registers, the return value, where execution goes on.
#include "core/core.h"
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

struct Range {
    int64_t least, most;
};

// Of what an integer type holds; nothing: any 64 bits.
std::optional<Range> range_of(const TypeInfo& type) {
    if (type.kind == TypeKind::Bool) return Range{0, 1};
    if (type.kind == TypeKind::Pointer || type.size >= 8) return std::nullopt;
    const int64_t values = int64_t{1} << (8 * type.size);
    return type.is_signed ? Range{-values / 2, values / 2 - 1} : Range{0, values - 1};
}

constexpr const char* returns_text[] = {"", "it returns 0 then", "it returns -1 to -4095 then",
                                        "it returns 0 or -1 to -4095 then", "it returns 1 then"};

}  // namespace

// Whether this handler, in this run, may do that.
bool Builder::may_change(const std::string& what, bool in_ret, uint32_t right) {
    if (!side_effect(what)) return false;
    const bool here =
        in_ret ? decl_.kind == KPL_PROG_RET : decl_.kind == KPL_PROG_PRE && decl_.passed == Passed::Registers;
    if (!here) {
        fail(in_ret ? Err::CHANGE_RET : Err::CHANGE_PRE, what);
        return false;
    }
    if (s_.options.rights & right) return true;
    fail(Err::UNSAFE, what, right & KPL_RIGHT_INJECT && decl_.returns ? "=inject" : "");
    return false;
}

// A value for something of that C type; 0: any number.
std::optional<ValueId> Builder::fitting(const Value& to, TypeId type, const std::string& what) {
    if (to.is_poison()) return std::nullopt;
    const auto t = type ? ask(s_.types.resolve(type)) : std::optional<TypeInfo>();
    if (type && !t) return std::nullopt;
    if (to.is(Kind::Nil) && t && t->kind == TypeKind::Pointer) return w_.constant(0);
    if (!usable(to, what)) return std::nullopt;
    const bool number_like = to.is(Kind::Int) || to.is(Kind::Pointer) || to.is(Kind::Bool);
    const bool scalar = !t || t->kind == TypeKind::Int || t->kind == TypeKind::Char || t->kind == TypeKind::Enum ||
                        t->kind == TypeKind::Bool || t->kind == TypeKind::Pointer;
    if (!number_like || !scalar || (t && t->size > 8)) {
        fail(Err::CHANGE_TYPE, what, describe(to));
        return std::nullopt;
    }
    const auto range = t ? range_of(*t) : std::nullopt;
    if (!range) return num(to);
    if (to.constant) {
        if (*to.constant >= range->least && *to.constant <= range->most) return w_.constant(*to.constant);
        fail(Err::CHANGE_FIT, *to.constant, what, range->least, range->most);
        return std::nullopt;
    }
    const uint32_t bits = t->kind == TypeKind::Bool ? 8 : 8 * t->size;
    return w_.unary(t->is_signed ? Opcode::SExt : Opcode::ZExt, num(to), bits);
}

// What this handler reads of registers, it reads when it comes to it from now on: the round before did not know.
void Builder::store_reg(uint16_t offset, ValueId value) {
    if (s_.changers.insert(handler_).second) s_.changed = true;
    w_.append({.op = Opcode::StoreReg, .imm = offset, .args = {value}});
}

void Builder::hit_set(const std::string& name, const Value& to) {
    const std::string what = "p." + name;
    if (name == "ret") {
        if (!may_change(what, true, KPL_RIGHT_CHANGE)) return;
        const auto value = fitting(to, decl_.signature ? decl_.signature->result : 0, what);
        if (value) store_reg(s_.options.arch->ret, *value);
        return;
    }
    if (name != "ip") {
        fail(Err::HIT_SET, name);
        return;
    }
    if (!may_change(what, false, KPL_RIGHT_CHANGE)) return;
    const auto address = need_constant(to, what);
    if (!address) return;
    if (s_.changers.insert(handler_).second) s_.changed = true;
    const auto half = [&](int shift) {
        return ConstOperand{static_cast<int32_t>(static_cast<uint64_t>(*address) >> shift)};
    };
    w_.call(KPL_H_go_to, {HitOperand{}, half(0), half(32)}, false, what);
}

void Builder::regs_set(const std::string& name, const Value& to) {
    const std::string what = "p.regs." + name;
    const Arch& arch = *s_.options.arch;
    const auto offset = arch.reg(name);
    if (!offset) {
        (void)regs_member(name);
        return;
    }
    if (!may_change(what, false, KPL_RIGHT_CHANGE)) return;
    if (!(arch.writable >> (*offset / 8) & 1)) {
        fail(Err::REGISTER_FIXED, name);
        return;
    }
    if (const auto value = fitting(to, 0, what)) store_reg(*offset, *value);
}

void Builder::arg_set(uint32_t index, TypeId type, const std::string& what, const Value& to) {
    if (!may_change(what, false, KPL_RIGHT_CHANGE)) return;
    const Arch& arch = *s_.options.arch;
    if (index >= arch.args.size()) {
        fail(Err::ARGUMENT_ON_STACK, what);
        return;
    }
    if (const auto value = fitting(to, type, what)) store_reg(arch.args[index], *value);
}

void Builder::args_number_set(const Value& index, const Value& to) {
    const Value known = args_number(index);  // the same places, and the same refusals
    if (known.is_poison() || !index.constant) return;
    arg_set(static_cast<uint32_t>(*index.constant - 1), 0, fmt::format("p.arg[{}]", *index.constant), to);
}

void Builder::args_member_set(const std::string& name, const Value& to) {
    const Value known = args_member(name);
    if (known.is_poison() || !decl_.signature) return;
    if (known.is(Kind::Opaque)) {
        fail(Err::CHANGE_TYPE, "p.args." + name, describe(known));
        return;
    }
    const auto& params = decl_.signature->params;
    for (uint32_t n = 0; n < params.size(); n++)
        if (params[n].name == name) return arg_set(n, params[n].type, "p.args." + name, to);
}

// override(value): the function is left out, and the handler ends.
Values Builder::b_override(const BuiltinRow&, Values& args) {
    const std::string what = "override";
    if (!may_change(what, false, KPL_RIGHT_CHANGE | KPL_RIGHT_INJECT)) return {};
    const bool any = s_.options.rights & KPL_RIGHT_CHANGE;
    if (!decl_.at_function_entry) return {fail(Err::OVERRIDE_INSIDE)};
    if (!decl_.no_override.empty()) return {fail(Err::OVERRIDE_NOT, decl_.function_name, decl_.no_override)};
    if (!any && !decl_.returns) return {fail(Err::OVERRIDE_UNMARKED, decl_.function_name)};
    const TypeId result = decl_.signature ? decl_.signature->result : 0;
    const bool returns_nothing = decl_.signature && !result;
    if (returns_nothing && !args.empty()) return {fail(Err::OVERRIDE_VOID, decl_.function_name)};
    if (!returns_nothing && args.empty()) return {fail(Err::OVERRIDE_VALUE, decl_.function_name)};
    const auto value = args.empty() ? std::optional(w_.constant(0)) : fitting(args[0], result, "override's value");
    if (!value) return {};
    if (!any && !args.empty() && args[0].constant && !kpl_returns_fit(decl_.returns, *args[0].constant))
        return {fail(Err::OVERRIDE_KIND, *args[0].constant, decl_.function_name, returns_text[decl_.returns])};
    w_.call(KPL_H_override, {HitOperand{}, *value}, !any, what);
    w_.leave(Return{false});
    alive_ = false;
    return {};
}

}  // namespace kpl::builder
