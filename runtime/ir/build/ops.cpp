// SPDX-License-Identifier: MIT
// The table from LuaJIT's opcodes to what they mean in a handler, and the simple ones.
#include <array>
#include <cmath>

#include "ir/build/builder.hpp"

namespace kpl::builder {

struct OpTable {
    struct Row {
        Builder::OpHandler run = nullptr;
        Err refusal = Err::OPCODE;
    };
    std::array<Row, static_cast<size_t>(Op::count_) + 1> rows{};

    OpTable();
    void set(std::initializer_list<Op> ops, Builder::OpHandler run) {
        for (Op op : ops) rows[static_cast<size_t>(op)].run = run;
    }
    void refuse(std::initializer_list<Op> ops, Err why) {
        for (Op op : ops) rows[static_cast<size_t>(op)] = {&Builder::op_refused, why};
    }
};

OpTable::OpTable() {
    for (Row& row : rows) row.run = &Builder::op_refused;
    set({Op::ISLT, Op::ISGE, Op::ISLE, Op::ISGT}, &Builder::op_compare);
    set({Op::ISEQV, Op::ISNEV, Op::ISEQS, Op::ISNES, Op::ISEQN, Op::ISNEN, Op::ISEQP, Op::ISNEP}, &Builder::op_equal);
    set({Op::ISTC, Op::ISFC, Op::IST, Op::ISF}, &Builder::op_test);
    set({Op::MOV}, &Builder::op_mov);
    set({Op::NOT}, &Builder::op_not);
    set({Op::UNM}, &Builder::op_unm);
    set({Op::LEN}, &Builder::op_len);
    set({Op::ADDVN, Op::SUBVN, Op::MULVN, Op::DIVVN, Op::MODVN, Op::ADDNV, Op::SUBNV, Op::MULNV, Op::DIVNV, Op::MODNV,
         Op::ADDVV, Op::SUBVV, Op::MULVV, Op::DIVVV, Op::MODVV},
        &Builder::op_arith);
    set({Op::KSTR, Op::KCDATA}, &Builder::op_kgc);
    set({Op::KSHORT}, &Builder::op_kshort);
    set({Op::KNUM}, &Builder::op_knum);
    set({Op::KPRI}, &Builder::op_kpri);
    set({Op::KNIL}, &Builder::op_knil);
    set({Op::UGET}, &Builder::op_uget);
    set({Op::USETV, Op::USETS, Op::USETN, Op::USETP}, &Builder::op_uset);
    set({Op::UCLO, Op::JMP}, &Builder::op_jump);
    set({Op::LOOP}, &Builder::op_nothing);
    set({Op::FNEW}, &Builder::op_fnew);
    set({Op::GGET}, &Builder::op_gget);
    set({Op::GSET}, &Builder::op_gset);
    set({Op::TNEW}, &Builder::op_tnew);
    set({Op::TDUP}, &Builder::op_tdup);
    set({Op::TGETS}, &Builder::op_tgets);
    set({Op::TGETB}, &Builder::op_tgetb);
    set({Op::TGETV}, &Builder::op_tgetv);
    set({Op::TSETS}, &Builder::op_tsets);
    set({Op::TSETB}, &Builder::op_tsetb);
    set({Op::TSETV}, &Builder::op_tsetv);
    set({Op::TSETM}, &Builder::op_tsetm);
    set({Op::CALL}, &Builder::op_call);
    set({Op::CALLM}, &Builder::op_callm);
    set({Op::CALLT}, &Builder::op_callt);
    set({Op::CALLMT}, &Builder::op_callmt);
    set({Op::RET, Op::RET0, Op::RET1}, &Builder::op_ret);
    set({Op::RETM}, &Builder::op_retm);
    set({Op::FORI}, &Builder::op_for_init);
    set({Op::FORL}, &Builder::op_for_loop);
    refuse({Op::POW}, Err::POWER);
    refuse({Op::CAT}, Err::CONCAT);
    refuse({Op::VARG}, Err::VARARG);
    refuse({Op::ITERC, Op::ITERN, Op::ITERL, Op::ISNEXT}, Err::GENERIC_FOR);
}

namespace {

const OpTable& table() {
    static const OpTable t;
    return t;
}

}  // namespace

void Builder::step(const Insn& insn) { (this->*table().rows[static_cast<size_t>(insn.op)].run)(insn); }

void Builder::op_refused(const Insn& insn) {
    const Err why = table().rows[static_cast<size_t>(insn.op)].refusal;
    fail(why, insn.op == Op::count_ ? std::string_view("unknown") : op_name(insn.op));
    const OpModes& modes = op_modes(insn.op);
    if (modes.a == Mode::Dst) assign(insn.a, poison());
    if (insn.op == Op::VARG) {
        for (uint32_t i = 0; i + 1 < insn.b; i++) assign(insn.a + i, poison());
        cur_.open.clear();
    }
    // A generic `for` has no meaning whose loop could be followed.
    if (why == Err::GENERIC_FOR) alive_ = false;
}

void Builder::assign(uint32_t slot, Value v) {
    const bool is_try = v.is(Kind::Builtin) && v.text == "try";
    cur_.slots[slot] = std::move(v);
    if (is_try) begin_try(slot);
}

std::string Builder::slot_name(uint32_t n) const {
    const LocalVar* local = frame_->proto->local_at(n, pc_);
    if (local && !local->name.starts_with('(')) return local->name;
    return cur_.slots[n].text;
}

Value Builder::number_constant(double d) {
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (std::floor(d) == d && std::fabs(d) <= exact) return int_constant(static_cast<int64_t>(d));
    if (std::floor(d) == d) return named(Kind::Float, fmt::format("{:.0f} (beyond 2^53)", d));
    return named(Kind::Float, fmt::format("{}", d));
}

Value Builder::gc_constant(uint32_t index) {
    const GcConst& c = frame_->proto->gc[index];
    if (const auto* s = std::get_if<std::string>(&c)) return string_literal(*s);
    if (const auto* n = std::get_if<int64_t>(&c)) return int_constant(*n);
    if (const auto* n = std::get_if<uint64_t>(&c)) return int_constant(static_cast<int64_t>(*n), true);
    return named(Kind::Float, "a complex number");
}

Value Builder::captured(const Captured& c, const std::string& name) {
    struct Visitor {
        Builder& b;
        const std::string& name;
        Value operator()(const Nil&) const {
            Value v = nil_value();
            v.text = name;
            return v;
        }
        Value operator()(bool x) const { return bool_constant(x); }
        Value operator()(double d) const { return b.number_constant(d); }
        Value operator()(int64_t n) const { return int_constant(n); }
        Value operator()(uint64_t n) const { return int_constant(static_cast<int64_t>(n), true); }
        Value operator()(const std::string& s) const { return b.string_literal(s); }
        Value operator()(const MapRef& m) const { return named(Kind::Map, name, m.id); }
        Value operator()(const EventRef& e) const { return named(Kind::Event, name, e.id); }
        Value operator()(const BuiltinRef& f) const { return named(Kind::Builtin, f.name); }
        Value operator()(const OpaqueRef& o) const { return named(Kind::Opaque, "'" + name + "', which is " + o.type); }
        Value operator()(const std::shared_ptr<const FunctionRef>& f) const {
            Value v = named(Kind::Function, name);
            auto function = std::make_shared<FunctionValue>();
            function->ref = f;
            v.function = std::move(function);
            return v;
        }
        Value operator()(const std::shared_ptr<const TableRef>& t) const {
            Value v = named(Kind::Table, name);
            v.table = t;
            return v;
        }
    };
    return std::visit(Visitor{*this, name}, c);
}

Value Builder::upvalue(uint32_t index) {
    const UpvalueDesc& desc = frame_->proto->upvalues[index];
    if (!frame_->function->ref) return frame_->function->upvalues[index];
    if (desc.unknown) return fail(Err::CAPTURED_UNKNOWN, desc.name);
    if (desc.assigned) return fail(Err::CAPTURED_ASSIGNED, desc.name, desc.assigned);
    return captured(frame_->function->ref->upvalue(index), desc.name);
}

// A name that the script does not define may be one of ours, or an enum's constant.
Value Builder::global(const std::string& name) {
    const FunctionValue* f = frame_->function.get();
    while (f && !f->ref) f = f->parent.get();
    const Captured c = f ? f->ref->global(name) : Captured(Nil{});
    if (!std::holds_alternative<Nil>(c)) return captured(c, name);
    if (find_builtin(name) || is_builtin_table(name)) return named(Kind::Builtin, name);
    const auto constant = ask(s_.types.enumerator(name));
    if (!constant) return poison();
    if (*constant) return int_constant(**constant);
    Value v = captured(Nil{}, name);
    v.index = never_defined;
    return v;
}

void Builder::op_mov(const Insn& i) {
    Value v = slot(i.c);
    assign(i.a, std::move(v));
}

void Builder::op_kpri(const Insn& i) { assign(i.a, i.c == 0 ? nil_value() : bool_constant(i.c == 2)); }
void Builder::op_kshort(const Insn& i) { assign(i.a, int_constant(i.sd())); }
void Builder::op_knum(const Insn& i) { assign(i.a, number_constant(frame_->proto->num[i.c])); }
void Builder::op_kgc(const Insn& i) { assign(i.a, gc_constant(i.c)); }

void Builder::op_knil(const Insn& i) {
    for (uint32_t n = i.a; n <= i.c; n++) assign(n, nil_value());
}

void Builder::op_uget(const Insn& i) { assign(i.a, upvalue(i.c)); }

void Builder::op_uset(const Insn& i) { fail(Err::CAPTURED_SET, frame_->proto->upvalues[i.a].name); }

void Builder::op_gget(const Insn& i) { assign(i.a, global(std::get<std::string>(frame_->proto->gc[i.c]))); }

void Builder::op_gset(const Insn& i) { fail(Err::GLOBAL_SET, std::get<std::string>(frame_->proto->gc[i.c])); }

// A local function: it may be called, with what it captured as it is now.
void Builder::op_fnew(const Insn& i) {
    auto function = std::make_shared<FunctionValue>();
    function->proto = std::get<std::shared_ptr<const Proto>>(frame_->proto->gc[i.c]);
    function->parent = frame_->function;
    for (const UpvalueDesc& u : function->proto->upvalues) {
        if (u.local && !u.immutable) {
            fail(Err::CLOSURE_ASSIGNED, u.name);
            function->upvalues.push_back(poison());
        } else {
            const bool itself = u.local && u.slot == i.a;  // `local function`: its local is where it will be
            Value v = itself ? Value{} : u.local ? slot(u.slot) : upvalue(u.slot);
            if (v.is(Kind::Undefined))
                v = named(Kind::Opaque, "'" + u.name + "', which would call itself (no recursion)", calls_itself);
            function->upvalues.push_back(std::move(v));
        }
    }
    Value v = named(Kind::Function);
    v.function = std::move(function);
    assign(i.a, std::move(v));
}

void Builder::op_arith(const Insn& i) {
    // Rows of five: VN, NV, VV of add, sub, mul, div, mod.
    struct Form {
        Op first;
        bool b_number, c_number;
    };
    const auto number = static_cast<uint8_t>(i.op);
    const auto vn = static_cast<uint8_t>(Op::ADDVN), nv = static_cast<uint8_t>(Op::ADDNV),
               vv = static_cast<uint8_t>(Op::ADDVV);
    static_assert(static_cast<int>(Op::MODVN) - static_cast<int>(Op::ADDVN) == 4 &&
                  static_cast<int>(Op::MODNV) - static_cast<int>(Op::ADDNV) == 4 &&
                  static_cast<int>(Op::MODVV) - static_cast<int>(Op::ADDVV) == 4);
    const bool is_vn = number >= vn && number < vn + 5, is_nv = number >= nv && number < nv + 5;
    const auto op = static_cast<Arith>(number - (is_vn ? vn : is_nv ? nv : vv));
    const Value b = slot(i.b);
    const Value c = is_vn || is_nv ? number_constant(frame_->proto->num[i.c]) : slot(i.c);
    assign(i.a, is_nv ? arith(op, c, b) : arith(op, b, c));
}

void Builder::op_unm(const Insn& i) { assign(i.a, negate(slot(i.c))); }
void Builder::op_len(const Insn& i) { assign(i.a, length(slot(i.c))); }

void Builder::op_not(const Insn& i) {
    std::optional<Condition> c = truth(slot(i.c), slot_name(i.c));
    if (!c) {
        assign(i.a, poison());
        return;
    }
    if (c->known)
        assign(i.a, bool_constant(!*c->known));
    else
        assign(i.a, as_bool({.cmp = ir::Cmp::Eq, .a = as_bool(*c).id, .b = w_.constant(0)}));
}

void Builder::op_jump(const Insn&) {
    alive_ = false;
    go_to(jump_target(*frame_->proto, pc_), w_.block(), std::move(cur_));
}

void Builder::op_nothing(const Insn&) {}

void Builder::op_ret(const Insn& i) {
    Values values;
    for (uint32_t n = 0; n + 1 < i.c; n++) values.push_back(slot(i.a + n));
    do_return(std::move(values));
}

void Builder::op_retm(const Insn& i) {
    Values values;
    for (uint32_t n = 0; n < i.c; n++) values.push_back(slot(i.a + n));
    values.insert(values.end(), cur_.open.begin(), cur_.open.end());
    do_return(std::move(values));
}

void Builder::do_return(Values values) {
    alive_ = false;
    if (values.size() > 1) fail(Err::MULTIPLE_RESULTS);
    if (!frame_->parent) {
        handler_return(values);
        return;
    }
    State state;
    state.records = std::move(cur_.records);
    state.stored = std::move(cur_.stored);
    state.there = std::move(cur_.there);
    frame_->returns.push_back({w_.block(), std::move(state), std::move(values), w_.line()});
}

}  // namespace kpl::builder
