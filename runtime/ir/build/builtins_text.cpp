// SPDX-License-Identifier: MIT
// What is carried out as a number and shown as text: names, times, internet addresses. And the kernel's variables.
#include <sys/socket.h>

#include <algorithm>

#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

constexpr uint32_t inet_bytes = 24;  // the family, then room for in6_addr
constexpr Type address_type{.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Address};

}  // namespace

Value Builder::shown_by(Naming naming, const Value& number, const char* function) {
    if (!need_int(number, function)) return poison();
    auto& all = s_.unit.namings;
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const auto& n) { return n->what == naming.what && n->detail == naming.detail; });
    if (at == all.end()) at = all.insert(all.end(), std::make_shared<const Naming>(std::move(naming)));
    Value v = number;
    v.type.shows = Shows::Named;
    v.type.naming = static_cast<uint32_t>(at - all.begin());
    return v;
}

Values Builder::b_named(const BuiltinRow& row, Values& args) {
    return {shown_by({static_cast<Naming::What>(row.param), {}, {}}, args[0], row.name)};
}

// strftime(format, ns)
Values Builder::b_strftime(const BuiltinRow&, Values& args) {
    if (args[0].is_poison()) return {poison()};
    if (!args[0].literal) return {fail(Err::NEED_LITERAL, "strftime's format")};
    return {shown_by({Naming::What::Time, args[0].text, {}}, args[1], "strftime")};
}

// enumname("enum skb_drop_reason", x)
Values Builder::b_enumname(const BuiltinRow&, Values& args) {
    if (args[0].is_poison()) return {poison()};
    if (!args[0].literal) return {fail(Err::TYPE_LITERAL, "enumname")};
    const auto type = ask(s_.types.parse(args[0].text));
    const auto t = type ? ask(s_.types.resolve(*type)) : std::nullopt;
    if (!t) return {poison()};
    if (t->kind != TypeKind::Enum) return {fail(Err::NO_ENUM, args[0].text)};
    const auto names = ask(s_.types.enumerators(t->id));
    if (!names) return {poison()};
    return {shown_by({Naming::What::Enum, args[0].text, *names}, args[1], "enumname")};
}

// ntop([family,] address): an integer in network order, or what holds 4 or 16 bytes.
Values Builder::b_ntop(const BuiltinRow&, Values& args) {
    const Value& address = args.back();
    if (!usable(address, "ntop")) return {poison()};
    uint32_t size = 4;
    ValueId words[2] = {w_.constant(0), w_.constant(0)};
    if (address.is(Kind::Pointer) || address.is(Kind::Memory)) {
        const auto bytes = size_of(address.type.ctype);
        if (!bytes || (*bytes != 4 && *bytes != 16)) return {fail(Err::NTOP_OF, describe(address))};
        size = *bytes;
        const int64_t offset = address.is(Kind::Memory) ? address.offset : 0;
        const ValueId base = address.is(Kind::Memory) ? address.id : num(address);
        const std::string what = "ntop(" + address.text + ")";
        words[0] = read(std::min(size, 8u), {base, offset, address.type.space}, what);
        if (size == 16) words[1] = read(8, {base, offset + 8, address.type.space}, what);
    } else if (address.is(Kind::Int)) {
        words[0] = num(address);
    } else {
        return {fail(Err::NTOP_OF, describe(address))};
    }
    ValueId family = w_.constant(size == 4 ? AF_INET : AF_INET6);
    if (args.size() == 2) {
        if (!need_int(args[0], "ntop's family")) return {poison()};
        family = num(args[0]);
        if (size == 4) {  // a socket of IPv6 holds an IPv4 address, too: AF_INET then
            const ValueId is_v6 = w_.compare(ir::Cmp::Eq, family, w_.constant(AF_INET6));
            family = w_.binary(Opcode::Sub, family, w_.binary(Opcode::Mul, is_v6, w_.constant(AF_INET6 - AF_INET)));
        }
    }
    Value v;
    v.type = {.kind = Kind::Inet, .limit = inet_bytes};
    v.str = {.index = w_.new_slot(KPL_STR_SIZE(inet_bytes)), .limit = inet_bytes};
    const ValueId parts[] = {w_.constant(inet_bytes), family, words[0], words[1]};
    for (uint32_t i = 0; i < 4; i++) w_.store_slot_in(w_.block(), v.str.index, i * 8, parts[i]);
    return {v};
}

// ntohs, ntohl and their twins: the same on machines that keep the low byte first, which all are that this runs on.
Values Builder::b_swap_bytes(const BuiltinRow& row, Values& args) {
    if (!need_int(args[0], row.name)) return {poison()};
    const uint32_t bytes = static_cast<uint32_t>(row.param);
    Value result = int_constant(0);
    for (uint32_t i = 0; i < bytes; i++) {
        const Value shift = int_constant(8 * i), back = int_constant(8 * (bytes - 1 - i)), mask = int_constant(0xff);
        if (args[0].constant) {
            *result.constant |= (*args[0].constant >> *shift.constant & 0xff) << *back.constant;
            continue;
        }
        const Value byte = binary(Opcode::And, binary(Opcode::Shr, args[0], shift, false), mask, false);
        result = binary(Opcode::Or, result, binary(Opcode::Shl, byte, back, false), false);
    }
    return {result};
}

// ---- the kernel's variables

std::optional<uint64_t> Builder::kernel_address(const Value& name, const char* function) {
    if (name.is_poison()) return std::nullopt;
    if (!name.literal) {
        fail(Err::NEED_LITERAL, std::string("the name for ") + function);
        return std::nullopt;
    }
    if (!s_.options.symbol_address) return 0;
    return ask(s_.options.symbol_address(name.text));
}

// kaddr("name")
Values Builder::b_kaddr(const BuiltinRow&, Values& args) {
    const auto address = kernel_address(args[0], "kaddr");
    if (!address) return {poison()};
    Value v = int_constant(static_cast<int64_t>(*address), true);
    v.type = address_type;
    return {v};
}

// kvar("name"): this CPU's copy of a per-CPU variable, whose type BTF has; kvar("name", "type"): any other.
Values Builder::b_kvar(const BuiltinRow&, Values& args) {
    const auto address = kernel_address(args[0], "kvar");
    if (!address) return {poison()};
    const auto variable = ask(s_.types.per_cpu_variable(args[0].text));
    if (!variable) return {poison()};
    TypeId type = variable->value_or(0);
    if (args.size() == 2) {
        if (args[1].is_poison()) return {poison()};
        if (!args[1].literal) return {fail(Err::TYPE_LITERAL, "kvar")};
        const auto given = ask(s_.types.parse(args[1].text));
        if (!given) return {poison()};
        type = *given;
    } else if (!*variable) {
        return {fail(Err::KVAR_TYPE, args[0].text)};
    }
    ValueId base = w_.constant(static_cast<int64_t>(*address));
    if (*variable) {
        // What is linked at an offset into each CPU's own area.
        const auto areas = kernel_address(string_literal("__per_cpu_offset"), "kvar");
        if (!areas) return {poison()};
        const ValueId cpu = hit_field(offsetof(kpl_hit, cpu), int_type).id;
        const ValueId entry = w_.binary(Opcode::Add, w_.binary(Opcode::Shl, cpu, w_.constant(3)),
                                        w_.constant(static_cast<int64_t>(*areas)));
        base = w_.binary(Opcode::Add, read(8, {entry, 0, Space::Kernel}, args[0].text), base);
    }
    return {load({base, 0, Space::Kernel}, type, nullptr, args[0].text)};
}

}  // namespace kpl::builder
