// SPDX-License-Identifier: MIT
// Opcodes that decide where to go: comparisons, tests of truth, numeric for.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

// Stands for a test that was reported, or waits for another round: both ways are followed.
Condition Builder::either_way() { return {.a = w_.constant(0), .b = w_.constant(0)}; }

// Each of these is followed by a JMP that is taken when the comparison holds.
void Builder::op_compare(const Insn& i) {
    const Cmp cmp = i.op == Op::ISLT ? Cmp::SLt : i.op == Op::ISGE ? Cmp::SGe : i.op == Op::ISLE ? Cmp::SLe : Cmp::SGt;
    const std::optional<Condition> c = compare(cmp, slot(i.a), slot(i.c));
    branch_on(c ? *c : either_way(), cur_, cur_, jump_target(*frame_->proto, pc_), pc_ + 2);
}

void Builder::op_equal(const Insn& i) {
    const Value a = slot(i.a);
    Value b;
    bool negate = false;
    switch (i.op) {
        case Op::ISNEV: negate = true; [[fallthrough]];
        case Op::ISEQV: b = slot(i.c); break;
        case Op::ISNES: negate = true; [[fallthrough]];
        case Op::ISEQS: b = gc_constant(i.c); break;
        case Op::ISNEN: negate = true; [[fallthrough]];
        case Op::ISEQN: b = number_constant(frame_->proto->num[i.c]); break;
        case Op::ISNEP: negate = true; [[fallthrough]];
        default: b = i.c == 0 ? nil_value() : bool_constant(i.c == 2); break;
    }
    const bool a_nil = a.is(Kind::Nil), b_nil = b.is(Kind::Nil);
    const std::optional<Condition> c = equal(a, b, slot_name(i.a));
    Condition condition = c ? *c : either_way();
    if (negate && condition.known) condition.known = !*condition.known;
    if (negate) condition.cmp = condition.cmp == Cmp::Eq ? Cmp::Ne : Cmp::Eq;
    State yes = cur_, no = cur_;
    if (a_nil != b_nil) {
        const Value& tested = a_nil ? b : a;
        refine(negate ? no : yes, tested, Known::Nil);
        refine(negate ? yes : no, tested, Known::NotNil);
    }
    branch_on(condition, std::move(yes), std::move(no), jump_target(*frame_->proto, pc_), pc_ + 2);
}

// A value that is tested where it stands: an `or` whose left side it is, not the condition of an `if`.
bool Builder::keeps_tested(uint32_t slot, uint32_t target) const {
    const Proto& proto = *frame_->proto;
    if (!proto.local_at(slot, pc_)) return frame_->cfg->blocks[frame_->cfg->block_of[target]].live_in.test(slot);
    // In `x = … or y` the other way ends in an assignment to x…
    const Insn& last = proto.code[target - 1];
    if (op_modes(last.op).a != Mode::Dst || last.a != slot) return false;
    // …which `x = c and x or y` reaches from c, too. `x = x or 5` is an argument's default.
    const bool argument = frame_->parent && slot < proto.num_params;
    return argument || frame_->cfg->blocks[frame_->cfg->block_of[pc_ + 2]].preds.size() > 1;
}

void Builder::op_test(const Insn& i) {
    const bool jump_if = i.op == Op::IST || i.op == Op::ISTC;
    const bool copies = i.op == Op::ISTC || i.op == Op::ISFC;
    const Value tested = slot(i.c);
    const uint32_t target = jump_target(*frame_->proto, pc_);
    // `c and x or y` keeps x: there it may be a number, which `if x then` refuses.
    const bool kept = jump_if && (copies || keeps_tested(i.c, target));
    const std::optional<Condition> c =
        kept && always_true(tested) ? Condition{.known = true} : truth(tested, slot_name(i.c));
    State yes = cur_, no = cur_;
    if (copies) (jump_if ? yes : no).slots[i.a] = tested;
    refine(yes, tested, Known::True);
    refine(no, tested, Known::False);
    branch_on(c ? *c : either_way(), std::move(yes), std::move(no), jump_if ? target : pc_ + 2,
              jump_if ? pc_ + 2 : target);
}

// Every variable that holds the tested value is known better on each way.
void Builder::refine(State& state, const Value& tested, Known known) {
    if (!tested.type.nilable && !tested.is(Kind::Bool)) return;
    if (!tested.field.empty() && (known == Known::True || known == Known::NotNil)) state.there.insert(tested.field);
    for (Value& v : state.slots) {
        if (!same(v, tested)) continue;
        const bool nilable = v.type.nilable;
        switch (known) {
            case Known::True:
                v = without_nil(v);
                if (v.is(Kind::Bool)) v.constant = true;
                break;
            case Known::False:
                if (v.is(Kind::Bool)) {
                    if (!nilable) v.constant = false;
                } else {
                    v = nil_value();
                }
                break;
            case Known::Nil:
                // A nil-able pointer may also be NULL here; nil says all that can be done with it.
                if (nilable) v = nil_value();
                break;
            case Known::NotNil: v = without_nil(v); break;
        }
    }
}

bool Builder::always_true(const Value& v) {
    return !v.is_poison() && !v.is(Kind::Nil) && !v.is(Kind::Bool) && !v.type.nilable;
}

// What `if v` tests: only nil and false are false.
std::optional<Condition> Builder::truth(const Value& v, const std::string& name) {
    if (v.is_poison()) return std::nullopt;
    if (v.is(Kind::Nil)) return Condition{.known = false};
    if (v.constant && !v.type.nilable) return Condition{.known = !v.is(Kind::Bool) || *v.constant != 0};
    if (v.is(Kind::Bool)) {
        const ValueId value = v.type.nilable ? w_.binary(Opcode::And, v.present, num(v)) : num(v);
        return Condition{.cmp = Cmp::Ne, .a = value, .b = w_.constant(0)};
    }
    if (v.type.nilable) return Condition{.cmp = Cmp::Ne, .a = v.present, .b = w_.constant(0)};
    const std::string what = name.empty() ? "this value" : "'" + name + "'";
    const std::string code = name.empty() ? "x" : name;
    switch (v.kind()) {
        case Kind::Int: fail(Err::TRUTH_INT, what, code); return std::nullopt;
        case Kind::Pointer: fail(Err::TRUTH_POINTER, what, code); return std::nullopt;
        case Kind::String:
            if (v.literal) return Condition{.known = true};
            fail(Err::TRUTH_STRING, what, code);
            return std::nullopt;
        case Kind::Memory:
        case Kind::Stack:
        case Kind::Snapshot: fail(Err::TRUTH_ALWAYS, what, describe(v)); return std::nullopt;
        default: return Condition{.known = true};  // a captured map, table, function…
    }
}

// Start, limit and step get one type, in their slots.
bool Builder::for_operands(const Insn& i) {
    static constexpr const char* names[] = {"the start of 'for'", "the limit of 'for'", "the step of 'for'"};
    bool has_unsigned = false, has_signed = false, negative = false;
    for (uint32_t n = 0; n < 3; n++) {
        const Value& v = slot(i.a + n);
        if (!need_int(v, names[n])) return false;
        has_unsigned |= v.type.is_unsigned;
        has_signed |= !v.type.is_unsigned && !v.constant;
        negative |= !v.type.is_unsigned && v.constant && *v.constant < 0;
    }
    if (has_unsigned && (has_signed || negative)) {
        fail(Err::FOR_SIGN);
        return false;
    }
    for (uint32_t n = 0; n < 3; n++) {
        cur_.slots[i.a + n].type = has_unsigned ? uint_type : int_type;
        cur_.slots[i.a + n].text.clear();
    }
    if (for_step(i) == 0) {
        fail(Err::FOR_STEP_ZERO);
        return false;
    }
    return true;
}

void Builder::for_test(const Insn& i, const Condition& go_on, State state) {
    State body = state;
    body.slots[i.a + 3u] = body.slots[i.a];
    branch_on(go_on, std::move(body), std::move(state), pc_ + 1, jump_target(*frame_->proto, pc_));
}

void Builder::op_for_init(const Insn& i) {
    if (!for_operands(i)) {
        for (uint32_t n = 0; n < 4; n++) cur_.slots[i.a + n] = poison();
        branch_on(either_way(), cur_, cur_, pc_ + 1, jump_target(*frame_->proto, pc_));
        return;
    }
    const bool is_unsigned = slot(i.a).type.is_unsigned;
    auto begins = [&](Cmp cmp) {
        const Value &start = slot(i.a), &limit = slot(i.a + 1u);
        if (is_unsigned) cmp = Cmp::ULe;
        if (!start.constant || !limit.constant) return Condition{.cmp = cmp, .a = num(start), .b = num(limit)};
        return *compare_integers(cmp, start, limit);
    };
    if (const auto step = for_step(i)) {
        for_test(i, begins(*step > 0 || is_unsigned ? Cmp::SLe : Cmp::SGe), cur_);
        return;
    }
    const ValueId step = num(slot(i.a + 2u));
    stop_if(Cmp::Eq, step, w_.constant(0), KPL_STOP_FOR_STEP, "");
    if (is_unsigned) {
        for_test(i, begins(Cmp::SLe), cur_);
        return;
    }
    const auto [upward, downward] = fork(Cmp::SGt, step, w_.constant(0));
    const State state = cur_;
    w_.enter(upward);
    for_test(i, begins(Cmp::SLe), state);
    w_.enter(downward);
    cur_ = state;
    for_test(i, begins(Cmp::SGe), state);
}

// Goes on while the limit is at least a step away: the sum can't wrap.
void Builder::for_next(const Insn& i, bool upward, State state) {
    const Value index = state.slots[i.a], limit = state.slots[i.a + 1u], step = state.slots[i.a + 2u];
    const ValueId at = num(index), end = num(limit);
    const ValueId left = w_.binary(Opcode::Sub, upward ? end : at, upward ? at : end);
    const ValueId stride = num(step);
    const ValueId size = upward          ? stride
                         : step.constant ? w_.constant(static_cast<int64_t>(-static_cast<uint64_t>(*step.constant)))
                                         : w_.unary(Opcode::Neg, stride);
    const bool single = step.constant && *step.constant == 1;
    const auto [more, done] = single ? fork(Cmp::Ne, at, end) : fork(Cmp::UGe, left, size);
    State body = state;
    w_.enter(more);
    const ValueId next = w_.binary(Opcode::Add, at, stride);
    body.slots[i.a] = body.slots[i.a + 3u] = number(next, index.type);
    go_to(jump_target(*frame_->proto, pc_), more, std::move(body));
    go_to(pc_ + 1, done, std::move(state));
}

void Builder::op_for_loop(const Insn& i) {
    alive_ = false;
    if (slot(i.a).is_poison() || slot(i.a + 1u).is_poison() || slot(i.a + 2u).is_poison()) {
        go_to(pc_ + 1, w_.block(), cur_);
        return;
    }
    const bool is_unsigned = slot(i.a).type.is_unsigned;
    if (const auto step = for_step(i); step || is_unsigned) {
        for_next(i, is_unsigned || *step > 0, cur_);
        return;
    }
    const auto [upward, downward] = fork(Cmp::SGt, num(slot(i.a + 2u)), w_.constant(0));
    const State state = cur_;
    w_.enter(upward);
    for_next(i, true, state);
    w_.enter(downward);
    for_next(i, false, state);
}

}  // namespace kpl::builder
