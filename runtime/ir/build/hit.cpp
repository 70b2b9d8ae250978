// SPDX-License-Identifier: MIT
// `p`: arguments, registers, the return, and private data.
#include "ir/build/builder.hpp"
#include "symbols/nearest.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

constexpr Type symbol_type{.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Symbol};
constexpr Type address_type{.kind = Kind::Int, .is_unsigned = true, .shows = Shows::Address};

}  // namespace

Value Builder::hit_field(uint32_t offset, Type type) {
    return number(w_.append({.op = Opcode::HitField, .imm = offset}), type);
}

Value Builder::reg(uint16_t offset, Type type) {
    if (decl_.passed == Passed::UserRegisters)
        return number(w_.call(KPL_H_user_reg, {w_.constant(offset)}, false), type);
    const Opcode op = s_.changers.contains(handler_) ? Opcode::LoadReg : Opcode::Reg;
    return number(w_.append({.op = op, .imm = offset}), type);
}

Value Builder::hit_member(const std::string& name) {
    const bool returns = decl_.kind == KPL_PROG_RET;
    if (decl_.kind == KPL_PROG_TRACEPOINT)
        for (const char* missing : {"regs", "ip", "sp", "addr"})
            if (name == missing) return fail(Err::NO_REGISTERS, "p." + name);
    if (decl_.passed == Passed::Nothing)
        for (const char* missing : {"args", "arg", "func", "addr"})
            if (name == missing) return fail(Err::PASSES_NOTHING, "p." + name, decl_.probed);
    if (name == "args" || name == "arg") {
        if (returns) return fail(Err::ARGS_IN_RET, name);
        return named(name == "args" ? Kind::Args : Kind::ArgNumbers);
    }
    if (name == "regs") return named(Kind::Regs);
    if (name == "ip") return reg(s_.options.arch->ip, address_type);
    if (name == "sp") return reg(s_.options.arch->sp, address_type);
    if (name == "compat") return compat();
    if (name == "func") return hit_field(offsetof(kpl_hit, func), symbol_type);
    if (name == "addr") return hit_field(offsetof(kpl_hit, addr), address_type);
    if (name == "ret") {
        if (!returns) return fail(Err::ONLY_RET, "p.ret");
        const Value raw = s_.changers.contains(handler_)
                              ? number(w_.append({.op = Opcode::LoadReg, .imm = s_.options.arch->ret}), int_type)
                              : hit_field(offsetof(kpl_hit, ret), int_type);
        return decl_.signature ? from_register(raw.id, decl_.signature->result, "p.ret") : raw;
    }
    if (name == "ret_addr") {
        if (!returns && decl_.kind != KPL_PROG_ENTRY) return fail(Err::ONLY_KRETPROBE, "p.ret_addr");
        return hit_field(offsetof(kpl_hit, ret_addr), symbol_type);
    }
    if (name == "data") {
        if (decl_.data_group < 0) return fail(Err::ONLY_KRETPROBE, "p.data");
        return named(Kind::Data);
    }
    Nearest nearest(name);
    for (const char* there : {"args", "arg", "regs", "ip", "sp", "ret", "ret_addr", "data", "func", "addr", "compat"})
        nearest.offer(there);
    return fail(Err::NO_HIT_FIELD, name, did_you_mean(nearest.names()));
}

Value Builder::compat() {
    if (!decl_.way) return fail(Err::ONLY_SYSCALL, "p.compat");
    if (!decl_.any_way) return bool_constant(decl_.way->compat);
    const Arch& arch = *s_.options.arch;
    const auto task = ask(s_.types.parse("struct task_struct"));
    if (!task) return poison();
    const Value current =
        number(w_.call(KPL_H_task, {}, false), {.kind = Kind::Pointer, .ctype = *task, .space = Space::Kernel});
    const Value info = member(current, "thread_info", "task().thread_info");
    if (info.is_poison()) return info;
    const Value flags = member(info, std::string(arch.compat_field), "p.compat");
    if (flags.is_poison()) return flags;
    const ValueId bits = w_.binary(Opcode::And, num(flags), w_.constant(arch.compat_bits));
    return number(w_.compare(Cmp::Ne, bits, w_.constant(0)), bool_type);
}

Value Builder::args_member(const std::string& name) {
    if (decl_.kind == KPL_PROG_POST || !decl_.at_function_entry) return fail(Err::NOT_AT_ENTRY, "p.args");
    if (!decl_.variant.empty()) return fail(Err::VARIANT_PARAMETERS, decl_.variant);
    if (!decl_.signature) return fail(Err::NO_SIGNATURE, decl_.probed);
    const auto& params = decl_.signature->params;
    for (uint32_t n = 0; n < params.size(); n++)
        if (params[n].name == name) return parameter(&*decl_.signature, n);
    Nearest nearest(name);
    for (const Param& param : params) nearest.offer(param.name);
    return fail(Err::NO_ARGUMENT, name, did_you_mean(nearest.names()), decl_.signature->text, decl_.probed);
}

Value Builder::args_number(const Value& index) {
    const auto n = need_constant(index, "p.arg's index");
    if (!n) return poison();
    if (*n < 1) return fail(Err::ARG_INDEX);
    if (decl_.passed == Passed::Registers && static_cast<size_t>(*n) > s_.options.arch->args.size() &&
        (decl_.kind == KPL_PROG_POST || !decl_.at_function_entry))
        return fail(Err::NOT_AT_ENTRY, fmt::format("p.arg[{}], which is on the stack", *n));
    if (*n > 64) return fail(Err::ARG_INDEX);
    return argument(static_cast<uint32_t>(*n - 1), fmt::format("p.arg[{}]", *n));
}

// The n-th integer argument, from 0: in a register, or at a function's entry on the stack.
Value Builder::argument(uint32_t index, const std::string& what) {
    if (decl_.passed == Passed::Values) return passed_value(index, what);
    if (decl_.passed == Passed::UserRegisters) return user_argument(index);
    if (decl_.passed == Passed::Described) return marked_argument(index, what);
    const Arch& arch = *s_.options.arch;
    if (index < arch.args.size()) return reg(arch.args[index], int_type);
    const Value sp = reg(arch.sp, uint_type);
    const int64_t offset = arch.stack_arg + 8 * static_cast<int64_t>(index - arch.args.size());
    return number(read(8, {sp.id, offset, decl_.user_pointers ? Space::User : Space::Kernel}, what), int_type);
}

// The program says by the size of its data how many it wants: as many as there are, or the module refuses it.
Value Builder::passed_value(uint32_t index, const std::string& what) {
    if (decl_.signature && index >= decl_.signature->params.size())
        return fail(Err::NO_ARGUMENT, what, "", decl_.signature->text, decl_.probed);
    fn_.data_size = std::max(fn_.data_size, 8 * (index + 1));
    return number(w_.load_data(8 * index), int_type);
}

// A program with 32 bits gives no more of each.
Value Builder::user_argument(uint32_t index) {
    const auto& args = decl_.way->args;
    if (index >= args.size()) return fail(Err::SYSCALL_ARGUMENTS, args.size());
    const Value word = reg(args[index], int_type);
    return decl_.way->compat ? number(w_.binary(Opcode::And, word.id, w_.constant(0xffffffff)), int_type) : word;
}

// As the note of the mark describes it.
Value Builder::marked_argument(uint32_t index, const std::string& what) {
    if (index >= decl_.marked->size()) return fail(Err::NO_ARGUMENT, what, "", decl_.signature->text, decl_.probed);
    const MarkArg& arg = (*decl_.marked)[index];
    // Not as a constant: elsewhere the same argument may lie in a register.
    if (arg.in == MarkArg::In::Number) return number(w_.constant(arg.number), int_type);
    if (arg.in == MarkArg::In::Nowhere)
        return named(Kind::Opaque, fmt::format("'{}', which the program passes as '{}'", what, arg.text));
    ValueId raw = reg(arg.base, int_type).id;
    if (arg.in == MarkArg::In::Memory) {
        if (arg.scale)
            raw = w_.binary(Opcode::Add, raw,
                            w_.binary(Opcode::Mul, reg(arg.index, int_type).id, w_.constant(arg.scale)));
        raw = read(arg.size, {raw, arg.number, Space::User}, what);
    } else if (arg.shift) {
        raw = w_.binary(Opcode::Shr, raw, w_.constant(arg.shift));
    }
    return arg.size == 8 ? number(raw, int_type) : extend(raw, arg.size, arg.is_signed);
}

Value Builder::regs_member(const std::string& name) {
    const auto offset = s_.options.arch->reg(name);
    if (!offset) {
        std::string all;
        for (const RegisterRow& row : s_.options.arch->regs) all += (all.empty() ? "" : " ") + std::string(row.name);
        return fail(Err::NO_REGISTER, name, all);
    }
    return reg(*offset, uint_type);
}

// ---- p.data

DataShape* Builder::data_shape() {
    return decl_.data_group < 0 ? nullptr : &s_.data[static_cast<size_t>(decl_.data_group)];
}

namespace {

// The field as laid out in the round before; fields that are new in this round lie anywhere until the next.
std::pair<FieldLayout, size_t> laid_out(const Layout& layout, const std::string& name, const Type& type) {
    for (size_t i = 0; i < layout.fields.size(); i++)
        if (layout.fields[i].name == name) return {layout.fields[i], i};
    FieldLayout f;
    f.name = name;
    f.limit = type.limit;
    return {f, 0};
}

}  // namespace

// A field of memory that handlers laid out, as a value.
Value Builder::stored_field(const Type& type, ValueId number_id, StrRef str, ValueId presence) {
    Value v;
    v.type = type;
    v.type.nilable = presence != no_value;
    v.present = presence;
    if (is_bytes(type))
        v.str = str;
    else
        v.id = number_id;
    return v;
}

Value Builder::data_load(const std::string& name) {
    DataShape& data = *data_shape();
    const FieldShape* shape = data.fields.find(name);
    if (!shape || shape->type.kind == Kind::Undefined) return fail(Err::NO_DATA_FIELD, name);
    const Type type = shape->type;
    const bool in_ret = decl_.kind == KPL_PROG_RET;
    if (!cur_.stored.contains(name)) {
        if (!data.has_entry) return fail(Err::DATA_WITHOUT_ENTRY, name);
        const bool by_entry = in_ret && (!data.entry_stores || data.entry_stores->contains(name));
        if (!by_entry) data.fields.make_nilable(name);
    }
    // A field that this handler does not change is what the first read found.
    const bool changes = data.stored_by.contains({handler_, name});
    const std::string path = "p.data." + name;
    const bool nilable = shape->nilable && !cur_.stored.contains(name) && (changes || !cur_.there.contains(path));
    const auto [f, index] = laid_out(data.layout, name, type);
    ValueId present = no_value, value = no_value;
    StrRef str{.where = StrRef::Where::Data, .index = f.offset, .limit = string_bytes(type)};
    if (nilable) {
        const ValueId bits = w_.load_data(0);
        present = w_.binary(Opcode::And, w_.binary(Opcode::Shr, bits, w_.constant(static_cast<int64_t>(index))),
                            w_.constant(1));
    }
    const bool is_string = is_bytes(type);
    if (!is_string) {
        value = w_.load_data(f.offset);
    } else if (changes) {
        // This handler stores here, too: what was read must stay what it was.
        Value copy;
        copy.str = str;
        copy.type = type;
        str = {.index = w_.new_slot(KPL_STR_SIZE(str.limit)), .limit = str.limit};
        copy_string_in(w_.block(), str, copy);
    }
    Value v = stored_field(type, value, str, present);
    v.text = path;
    if (!changes) v.field = path;
    return v;
}

void Builder::data_store(const std::string& name, const Value& v) {
    if (!side_effect("p.data")) return;
    DataShape& data = *data_shape();
    if (!store_shape(data.fields, name, v, "p.data." + name)) return;
    if (data.stored_by.insert({handler_, name}).second) s_.changed = true;
    const FieldShape& shape = *data.fields.find(name);
    const auto [f, index] = laid_out(data.layout, name, shape.type);
    const bool nil = v.is(Kind::Nil);
    if (shape.nilable) {
        const int64_t bit = static_cast<int64_t>(uint64_t{1} << (index & 63));
        ValueId bits = w_.load_data(0);
        if (nil || v.type.nilable) bits = w_.binary(Opcode::And, bits, w_.constant(~bit));
        if (!nil)
            bits =
                w_.binary(Opcode::Or, bits,
                          v.type.nilable ? w_.binary(Opcode::Shl, v.present, w_.constant(static_cast<int64_t>(index)))
                                         : w_.constant(bit));
        w_.store_data(0, bits);
    }
    if (nil || v.type.nilable)
        cur_.stored.erase(name);
    else
        cur_.stored.insert(name);
    if (nil) return;
    if (is_bytes(v.type))
        copy_string_in(w_.block(), {.where = StrRef::Where::Data, .index = f.offset, .limit = string_bytes(shape.type)},
                       v);
    else
        w_.store_data(f.offset, num(v));
}

}  // namespace kpl::builder
