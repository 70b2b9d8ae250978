// SPDX-License-Identifier: MIT
// The functions of the handler language: one table, and what each becomes.
#include <algorithm>
#include <vector>

#include "core/core.h"
#include "hints/other_tracers.hpp"
#include "ir/build/builder.hpp"
#include "ir/builtins.hpp"
#include "ir/probe_kinds.hpp"
#include "symbols/nearest.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

constexpr int64_t default_frames = 32;
constexpr int64_t max_words = 127;  // of a stack: it fits a key, KPL_MAX_KEY
constexpr uint8_t any = 255;

constexpr Type symbol_type{.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Symbol};

}  // namespace

struct BuiltinTable {
    using B = Builder;
    static constexpr B::BuiltinRow rows[] = {
        // name, arguments at least, at most, lowering, parameter
        {"pid", 0, 0, &B::b_number, KPL_H_pid},
        {"tid", 0, 0, &B::b_number, KPL_H_tid},
        {"ppid", 0, 0, &B::b_number, KPL_H_ppid},
        {"uid", 0, 0, &B::b_number, KPL_H_uid},
        {"gid", 0, 0, &B::b_number, KPL_H_gid},
        {"cgroup", 0, 0, &B::b_number, KPL_H_cgroup},
        {"now", 0, 0, &B::b_number, KPL_H_now},
        {"cpu", 0, 0, &B::b_cpu, 0},
        {"task", 0, 0, &B::b_task, 0},
        {"comm", 0, 0, &B::b_comm, 0},
        {"str", 1, 2, &B::b_str, KPL_H_str},
        {"ustr", 1, 2, &B::b_str, KPL_H_ustr},
        {"buf", 2, 2, &B::b_buf, KPL_H_buf},
        {"ubuf", 2, 2, &B::b_buf, KPL_H_ubuf},
        {"starts", 2, 2, &B::b_starts, 0},
        {"kstack", 0, 1, &B::b_stack, 0},
        {"ustack", 0, 1, &B::b_stack, 1},
        {"sym", 1, 1, &B::b_sym, 0},
        {"usym", 1, 1, &B::b_usym, 0},
        {"path", 1, 2, &B::b_path, 0},
        {"errno_name", 1, 1, &B::b_named, static_cast<int>(Naming::What::Errno)},
        {"signal_name", 1, 1, &B::b_named, static_cast<int>(Naming::What::Signal)},
        {"syscall_name", 1, 1, &B::b_named, static_cast<int>(Naming::What::Syscall)},
        {"cgroup_path", 1, 1, &B::b_named, static_cast<int>(Naming::What::Cgroup)},
        {"strftime", 2, 2, &B::b_strftime, 0},
        {"enumname", 2, 2, &B::b_enumname, 0},
        {"ntop", 1, 2, &B::b_ntop, 0},
        {"ntohs", 1, 1, &B::b_swap_bytes, 2},
        {"htons", 1, 1, &B::b_swap_bytes, 2},
        {"ntohl", 1, 1, &B::b_swap_bytes, 4},
        {"htonl", 1, 1, &B::b_swap_bytes, 4},
        {"kaddr", 1, 1, &B::b_kaddr, 0},
        {"kvar", 1, 2, &B::b_kvar, 0},
        {"printf", 1, any, &B::b_printf, 0},
        {"print", 0, any, &B::b_print, 0},
        {"exit", 0, 1, &B::b_exit, 0},
        {"override", 0, 1, &B::b_override, 0},
        {"try", 2, 2, &B::b_try, 0},
        {"tonumber", 1, 1, &B::b_tonumber, 0},
        {"ffi.cast", 2, 2, &B::b_cast, 0},
        {"ffi.sizeof", 1, 1, &B::b_sizeof, 0},
        {"ffi.offsetof", 2, 2, &B::b_offsetof, 0},
        {"bit.band", 1, any, &B::b_bit_fold, static_cast<int>(Opcode::And)},
        {"bit.bor", 1, any, &B::b_bit_fold, static_cast<int>(Opcode::Or)},
        {"bit.bxor", 1, any, &B::b_bit_fold, static_cast<int>(Opcode::Xor)},
        {"bit.bnot", 1, 1, &B::b_bit_not, 0},
        {"bit.lshift", 2, 2, &B::b_bit_shift, static_cast<int>(Opcode::Shl)},
        {"bit.rshift", 2, 2, &B::b_bit_shift, static_cast<int>(Opcode::Shr)},
        {"bit.arshift", 2, 2, &B::b_bit_shift, static_cast<int>(Opcode::Sar)},
        {"bit.rol", 2, 2, &B::b_bit_rotate, 1},
        {"bit.ror", 2, 2, &B::b_bit_rotate, 0},
        {"bit.bswap", 1, 1, &B::b_bit_swap, 0},
        {"bit.tobit", 1, 1, &B::b_bit_tobit, 0},
        {"bit.tohex", 1, 2, &B::b_refused, static_cast<int>(Err::TOHEX)},
        {"tostring", 0, any, &B::b_refused, static_cast<int>(Err::TOSTRING)},
        {"string.format", 0, any, &B::b_refused, static_cast<int>(Err::TOSTRING)},
        {"ffi.string", 0, any, &B::b_refused, static_cast<int>(Err::FFI_STRING)},
        {"pairs", 0, any, &B::b_refused, static_cast<int>(Err::GENERIC_FOR)},
        {"ipairs", 0, any, &B::b_refused, static_cast<int>(Err::GENERIC_FOR)},
        {"next", 0, any, &B::b_refused, static_cast<int>(Err::GENERIC_FOR)},
    };

    static std::vector<std::string_view> own() {
        std::vector<std::string_view> names;
        for (const B::BuiltinRow& row : rows)
            if (row.lower != &B::b_refused && std::string_view(row.name).find('.') == std::string_view::npos)
                names.push_back(row.name);
        return names;
    }

    // What only a script's chunk and its callbacks may call.
    static std::vector<B::BuiltinRow> declarations() {
        std::vector<B::BuiltinRow> rows;
        const auto add = [&rows](const char* name) {
            rows.push_back({name, 0, any, &B::b_refused, static_cast<int>(Err::DECLARATION)});
        };
        add("event"), add("map");
        for (const kpl_agg_desc& agg : kpl_agg_descs) add(agg.name);
        for (const ProbeKindRow& kind : probe_kinds) add(kind.name);
        return rows;
    }
};

const Builder::BuiltinRow* Builder::find_builtin(const std::string& name) {
    for (const BuiltinRow& row : BuiltinTable::rows)
        if (name == row.name) return &row;
    static const std::vector<BuiltinRow> declarations = BuiltinTable::declarations();
    for (const BuiltinRow& row : declarations)
        if (name == row.name) return &row;
    return nullptr;
}

std::string Builder::meant_by(const std::string& name) {
    if (const auto theirs = foreign_name(name)) return ": " + *theirs;
    Nearest nearest(name);
    for (const BuiltinRow& row : BuiltinTable::rows)
        if (row.lower != &Builder::b_refused) nearest.offer(row.name);
    if (const std::string near = did_you_mean(nearest.names()); !near.empty()) return near;
    const bool is_macro =
        name.size() > 2 && std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::islower(c); });
    return is_macro ? ": perhaps a C macro, which is not among the kernel's types: write its number" : "";
}

bool Builder::is_builtin_table(const std::string& name) { return name == "ffi" || name == "bit" || name == "ffi.C"; }

Values Builder::b_refused(const BuiltinRow& row, Values&) { return {fail(static_cast<Err>(row.param), row.name)}; }

Values Builder::b_number(const BuiltinRow& row, Values&) {
    Value v = number(w_.call(static_cast<kpl_helper>(row.param), {}, false), int_type);
    v.text = std::string(row.name) + "()";
    return {v};
}

Values Builder::b_cpu(const BuiltinRow&, Values&) { return {hit_field(offsetof(kpl_hit, cpu), int_type)}; }

Values Builder::b_task(const BuiltinRow&, Values&) {
    const auto type = ask(s_.types.parse("struct task_struct"));
    if (!type) return {poison()};
    Value v = number(w_.call(KPL_H_task, {}, false), {.kind = Kind::Pointer, .ctype = *type, .space = Space::Kernel});
    v.text = "task()";
    return {v};
}

// ---- strings

Value Builder::new_string(uint32_t limit) {
    Value v;
    v.type = {.kind = Kind::String, .limit = limit};
    v.str = {.index = w_.new_slot(KPL_STR_SIZE(limit)), .limit = limit};
    return v;
}

Value Builder::string_literal(const std::string& bytes) {
    Value v;
    v.text = bytes;
    v.literal = true;
    v.type = {.kind = Kind::String, .limit = static_cast<uint32_t>(bytes.size())};
    if (bytes.size() > KPL_MAX_STR) return fail(Err::LONG_LITERAL, bytes.size(), KPL_MAX_STR);
    return v;
}

// A literal gets its slot when it is first used as a string.
StrRef Builder::str_of(const Value& v) {
    if (!v.literal) return v.str;
    return {.index = w_.literal_slot(v.text), .limit = static_cast<uint32_t>(v.text.size())};
}

std::optional<uint32_t> Builder::need_limit(const Values& args, size_t index, const char* name, uint32_t otherwise) {
    if (index >= args.size()) return otherwise;
    const auto n = need_constant(args[index], std::string("the limit of ") + name);
    if (!n) return std::nullopt;
    if (*n < 1 || *n > KPL_MAX_STR) {
        fail(Err::STRING_LIMIT, *n, KPL_MAX_STR);
        return std::nullopt;
    }
    return static_cast<uint32_t>(*n);
}

Values Builder::b_comm(const BuiltinRow&, Values&) {
    Value v = new_string(KPL_COMM);
    w_.call(KPL_H_comm, {StrOperand{v.str}, ConstOperand{v.str.limit}}, false);
    return {v};
}

// What is known to be elsewhere is refused; each function has its twin for the other memory.
bool Builder::in_space(const Value& v, Space space, const char* function) {
    if (!v.is(Kind::Pointer) && !v.is(Kind::Memory)) return true;
    const std::string name = v.text.empty() ? "x" : v.text;
    const std::string what = name + (std::string_view(function).ends_with("buf") ? ", n" : "");
    if (space == Space::Kernel && v.type.space == Space::User)
        fail(Err::OF_USER, function, name, what);
    else if (space == Space::User && v.type.space == Space::Kernel)
        fail(Err::OF_KERNEL, function, name, function + 1, what);
    else
        return true;
    return false;
}

Values Builder::b_str(const BuiltinRow& row, Values& args) {
    const Value& from = args[0];
    if (!usable(from, row.name)) return {poison()};
    if (!in_space(from, row.param == KPL_H_ustr ? Space::User : Space::Kernel, row.name)) return {poison()};
    uint32_t limit = s_.options.string_limit;
    ValueId address = no_value;
    if (from.is(Kind::Memory) || from.is(Kind::Pointer)) {
        auto t = ask(s_.types.resolve(from.type.ctype));
        if (!t) return {poison()};
        if (from.is(Kind::Memory)) {
            if (t->kind != TypeKind::Array) return {fail(Err::STR_OF, row.name, describe(from))};
            if (t->count) limit = std::min<uint32_t>(t->count, KPL_MAX_STR);
            t = ask(s_.types.resolve(t->element));
            if (!t) return {poison()};
        }
        if (t->kind != TypeKind::Void && t->size != 1) return {fail(Err::STR_OF, row.name, describe(from))};
        address = address_of(from);
    } else if (from.is(Kind::Int)) {
        address = num(from);  // p.arg[n]: an address without a type
    } else if (from.is(Kind::String)) {
        // It was read with a limit of its own.
        const auto most = need_limit(args, 1, row.name, from.str.limit);
        if (most && *most < from.str.limit) return {fail(Err::ARGUMENTS, row.name + std::string(" of a string"), 1, 2)};
        return {from};
    } else {
        return {fail(Err::STR_OF, row.name, describe(from))};
    }
    const auto given = need_limit(args, 1, row.name, limit);
    if (!given) return {poison()};
    Value v = new_string(from.is(Kind::Memory) ? std::min(*given, limit) : *given);
    const std::string what = fmt::format("{}({})", row.name, from.text);
    w_.call(static_cast<kpl_helper>(row.param), {HitOperand{}, StrOperand{v.str}, ConstOperand{v.str.limit}, address},
            !soft(), what);
    return {v};
}

Values Builder::b_buf(const BuiltinRow& row, Values& args) {
    const Value& from = args[0];
    if (!usable(from, row.name) || !need_int(args[1], std::string(row.name) + "'s size")) return {poison()};
    if (!from.is(Kind::Pointer) && !from.is(Kind::Memory) && !from.is(Kind::Int))
        return {fail(Err::STR_OF, row.name, describe(from))};
    if (!in_space(from, row.param == KPL_H_ubuf ? Space::User : Space::Kernel, row.name)) return {poison()};
    uint32_t limit = s_.options.string_limit;
    if (args[1].constant) {
        const auto n = need_limit(args, 1, row.name, limit);
        if (!n) return {poison()};
        limit = *n;
    }
    Value v = new_string(limit);
    const ValueId address = from.is(Kind::Int) ? num(from) : address_of(from);
    w_.call(static_cast<kpl_helper>(row.param),
            {HitOperand{}, StrOperand{v.str}, ConstOperand{v.str.limit}, address, num(args[1])}, !soft(),
            fmt::format("{}({})", row.name, from.text));
    return {v};
}

Values Builder::b_starts(const BuiltinRow&, Values& args) {
    if (!need_string(args[0], "starts") || !need_string(args[1], "starts")) return {poison()};
    if (args[0].literal && args[1].literal) return {bool_constant(args[0].text.starts_with(args[1].text))};
    const StrRef s = str_of(args[0]), prefix = str_of(args[1]);
    const ValueId r =
        w_.call(KPL_H_str_starts,
                {StrOperand{s}, ConstOperand{s.limit}, StrOperand{prefix}, ConstOperand{prefix.limit}}, false);
    return {number(r, bool_type)};
}

// A stack is kept as a string of addresses: the header with the length in bytes, then, of a process's, the space, then
// the frames.
Values Builder::b_stack(const BuiltinRow& row, Values& args) {
    const bool user = row.param == 1;
    const int64_t max_frames = user ? max_words - 1 : max_words;
    int64_t frames = default_frames;
    if (!args.empty()) {
        const auto n = need_constant(args[0], std::string("the depth of ") + row.name);
        if (!n) return {poison()};
        if (*n < 1 || *n > max_frames) return {fail(Err::STACK_DEPTH, row.name, max_frames)};
        frames = *n;
    }
    Value v;
    v.type = {.kind = Kind::Stack, .user = user, .limit = static_cast<uint32_t>(frames)};
    const uint32_t bytes = static_cast<uint32_t>(frames) * 8;
    v.str.limit = string_bytes(v.type);
    v.str.index = w_.new_slot(KPL_STR_SIZE(v.str.limit));
    const ValueId space = user ? w_.call(KPL_H_space, {}, false) : no_value;
    ValueId words = w_.call(user ? KPL_H_ustack : KPL_H_kstack,
                            {HitOperand{}, SlotOperand{v.str.index, user ? 16u : 8u}, ConstOperand{bytes}}, false);
    if (user) {
        w_.store_slot_in(w_.block(), v.str.index, 8, space);
        words = w_.binary(Opcode::Add, words, w_.constant(1));
    }
    w_.store_slot_in(w_.block(), v.str.index, 0, w_.binary(Opcode::Shl, words, w_.constant(3)));
    return {v};
}

Values Builder::b_usym(const BuiltinRow&, Values& args) {
    const Value& of = args[0];
    if (!usable(of, "usym")) return {poison()};
    if (!of.is(Kind::Int) && !of.is(Kind::Pointer)) return {fail(Err::NEED_INT, "usym", describe(of))};
    constexpr uint32_t bytes = 16;
    Value v;
    v.type = {.kind = Kind::UserSymbol, .limit = bytes};
    v.str = {.index = w_.new_slot(KPL_STR_SIZE(bytes)), .limit = bytes};
    const ValueId parts[] = {w_.constant(bytes), w_.call(KPL_H_space, {}, false), num(of)};
    for (uint32_t i = 0; i < 3; i++) w_.store_slot_in(w_.block(), v.str.index, i * 8, parts[i]);
    return {v};
}

Values Builder::b_sym(const BuiltinRow&, Values& args) {
    if (!usable(args[0], "sym")) return {poison()};
    if (!args[0].is(Kind::Int) && !args[0].is(Kind::Pointer)) return {fail(Err::NEED_INT, "sym", describe(args[0]))};
    return {number(num(args[0]), symbol_type)};
}

// path(file or path[, n])
Values Builder::b_path(const BuiltinRow&, Values& args) {
    const Value& of = args[0];
    if (!usable(of, "path")) return {poison()};
    if (!of.is(Kind::Pointer) && !of.is(Kind::Memory)) return {fail(Err::PATH_OF, describe(of))};
    const auto t = ask(s_.types.resolve(of.type.ctype));
    if (!t) return {poison()};
    const bool is_file = t->kind == TypeKind::Struct && t->name == "file";
    if (of.type.space == Space::User || !(is_file || (t->kind == TypeKind::Struct && t->name == "path")))
        return {fail(Err::PATH_OF, describe(of))};
    const auto limit = need_limit(args, 1, "path", s_.options.string_limit);
    if (!limit) return {poison()};
    int64_t offset = 0, mount = 0;
    auto add_offset = [&](const char* type, const char* member, int64_t& to, int shift) {
        const auto parsed = ask(s_.types.parse(std::string("struct ") + type));
        const auto field = parsed ? ask(s_.types.field(*parsed, member)) : std::nullopt;
        if (!field) return false;
        if (!*field) return !fail(Err::NO_FIELD, std::string("struct ") + type, member, "").is_poison();
        to |= static_cast<int64_t>((**field).offset) << shift;
        return true;
    };
    if ((is_file && !add_offset("file", "f_path", offset, 0)) || !add_offset("mount", "mnt_parent", mount, 0) ||
        !add_offset("mount", "mnt_mountpoint", mount, 10) || !add_offset("mount", "mnt", mount, 20))
        return {poison()};
    Value v = new_string(*limit);
    w_.call(KPL_H_path,
            {HitOperand{}, StrOperand{v.str}, ConstOperand{v.str.limit}, offset_by(address_of(of), offset),
             ConstOperand{mount}},
            !soft(), fmt::format("path({})", of.text));
    return {v};
}

// ---- output and end

Values Builder::b_printf(const BuiltinRow&, Values& args) {
    if (args[0].is_poison()) return {};
    if (!args[0].literal) return {fail(Err::FORMAT_LITERAL)};
    return emit_printf(args[0].text, false, Values(args.begin() + 1, args.end()));
}

Values Builder::b_print(const BuiltinRow&, Values& args) { return emit_printf("", true, args); }

Values Builder::b_exit(const BuiltinRow&, Values& args) {
    if (!side_effect("exit")) return {};
    if (!args.empty() && !need_int(args[0], "exit")) return {};
    const ValueId code = args.empty() ? w_.constant(0) : num(args[0]);
    w_.call(KPL_H_exit, {HitOperand{}, code}, false);
    if (decl_.kind == KPL_PROG_ENTRY) note_entry_stores();
    w_.leave(Return{false});
    alive_ = false;
    return {};
}

Values Builder::b_tonumber(const BuiltinRow&, Values& args) {
    if (!need_int(args[0], "tonumber")) return {poison()};
    return {args[0]};
}

// try(expr, default): the reads of `expr` were soft; one status tells whether all of them went well.
Values Builder::b_try(const BuiltinRow&, Values& args) {
    const SoftRegion* region = nullptr;
    for (const SoftRegion& r : frame_->soft_regions)
        if (r.call == pc_) region = &r;
    if (!region) return {fail(Err::TRY_NESTED)};  // `(c and try or try)(…)`
    const Value& value = args[0];
    const Value& otherwise = args[1];
    if (value.is_poison() || otherwise.is_poison()) return {poison()};
    const bool computed = (!otherwise.constant && otherwise.id != no_value && otherwise.id >= region->insts) ||
                          (otherwise.is(Kind::String) && !otherwise.literal &&
                           otherwise.str.where == StrRef::Where::Slot && otherwise.str.index >= region->slots);
    if (computed) return {fail(Err::TRY_DEFAULT)};
    const ValueId status = w_.append({.op = Opcode::StatusClear});
    const auto [bad, good] = fork(Cmp::Ne, status, w_.constant(0));
    Meeting m;
    m.from = {good, bad};
    m.values = {value, otherwise};
    m.into = w_.new_block();
    m.force = true;
    w_.jump_from(good, m.into);
    w_.jump_from(bad, m.into);
    Value v = merge(m);
    w_.enter(m.into);
    return {v};
}

}  // namespace kpl::builder

std::vector<std::string_view> kpl::handler_functions() { return builder::BuiltinTable::own(); }
