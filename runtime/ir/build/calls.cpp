// SPDX-License-Identifier: MIT
// Calls: builtins, methods and events by name; Lua functions in place.
#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {
constexpr int max_depth = 16;                      // functions inlined in each other
constexpr size_t max_values = 16 * KPL_MAX_INSNS;  // far more than can become a program
}  // namespace

// The function is in slot A, its arguments begin at A + 2.
Values Builder::call_args(const Insn& insn, uint32_t fixed, bool open) {
    Values args;
    for (uint32_t n = 0; n < fixed; n++) args.push_back(slot(insn.a + 2u + n));
    if (open) args.insert(args.end(), cur_.open.begin(), cur_.open.end());
    return args;
}

// B - 1 results are wanted; with B = 0 all of them stay open for what comes next.
void Builder::set_results(const Insn& insn, Values results) {
    if (!alive_) return;
    cur_.open.clear();
    if (insn.b == 0) {
        cur_.open = std::move(results);
        return;
    }
    for (uint32_t n = 0; n + 1 < insn.b; n++)
        assign(insn.a + n, n < results.size() ? std::move(results[n]) : nil_value());
}

void Builder::op_call(const Insn& i) {
    set_results(i, call(slot(i.a), call_args(i, i.c ? i.c - 1u : 0, false), slot_name(i.a)));
}

void Builder::op_callm(const Insn& i) { set_results(i, call(slot(i.a), call_args(i, i.c, true), slot_name(i.a))); }

void Builder::op_callt(const Insn& i) {
    Values results = call(slot(i.a), call_args(i, i.c ? i.c - 1u : 0, false), slot_name(i.a));
    if (alive_) do_return(std::move(results));
}

void Builder::op_callmt(const Insn& i) {
    Values results = call(slot(i.a), call_args(i, i.c, true), slot_name(i.a));
    if (alive_) do_return(std::move(results));
}

Values Builder::call(const Value& target, Values args, const std::string& name) {
    const Value callee = target;  // the slots may move while a function is inlined
    switch (callee.kind()) {
        case Kind::Undefined:
        case Kind::Poison: return {poison()};
        case Kind::Builtin: return call_builtin(callee.text, std::move(args));
        case Kind::Function: return inline_call(callee, std::move(args));
        case Kind::Event: return emit_event(callee, args);
        case Kind::Method: {
            if (args.empty()) return {fail(Err::METHOD_DOT, callee.text)};
            const Value receiver = args[0];
            args.erase(args.begin());
            return map_method(receiver, callee.text, args);
        }
        default: break;
    }
    if (callee.is(Kind::Opaque) && callee.index == calls_itself) return {fail(Err::RECURSION)};
    const std::string& missing = callee.text.empty() ? name : callee.text;
    if (callee.is(Kind::Nil) && !missing.empty()) return {fail(Err::NOT_DEFINED, missing, meant_by(missing))};
    if (callee.is(Kind::Cell) || callee.is(Kind::Map)) return {fail(Err::CALL_MAP, name.empty() ? "m" : name)};
    return {fail(Err::CALL_VALUE, describe(callee))};
}

Values Builder::call_builtin(const std::string& name, Values args) {
    const BuiltinRow* row = find_builtin(name);
    if (!row) return {fail(Err::NO_SUCH_FUNCTION, name)};
    if (args.size() < row->min || (row->max != 255 && args.size() > row->max)) {
        const std::string wanted = row->min == row->max ? std::to_string(row->min)
                                   : row->max == 255    ? "at least " + std::to_string(row->min)
                                                        : fmt::format("{} to {}", row->min, row->max);
        return {fail(Err::ARGUMENTS, name, wanted, args.size())};
    }
    return (this->*row->lower)(*row, args);
}

Values Builder::inline_call(const Value& callee, Values args) {
    Frame child;
    child.function = callee.function;
    child.proto = callee.function->proto;
    if (callee.function->ref) {
        auto proto = ask(s_.proto(*callee.function->ref));
        if (!proto) return {poison()};
        child.proto = *proto;
    }
    int depth = 0;
    for (const Frame* f = frame_; f; f = f->parent, depth++)
        if (f->proto == child.proto || (f->function->ref && child.function->ref &&
                                        f->function->ref->identity() == child.function->ref->identity()))
            return {fail(Err::RECURSION)};
    if (depth > max_depth) return {fail(Err::TOO_DEEP, max_depth)};
    if (w_.values() > max_values) return {fail(Err::TOO_MANY_CALLS)};
    if (child.proto->vararg) return {fail(Err::VARARG, "VARG")};
    child.cfg = &s_.cfg(child.proto);
    child.parent = frame_;
    child.call_pc = pc_;
    child.key = frame_->key + "/" + std::to_string(pc_);
    child.soft = soft();
    child.first_record = next_record_;
    State entry;
    entry.slots.resize(child.proto->frame_size + 3u);
    for (uint32_t n = 0; n < child.proto->num_params; n++)
        entry.slots[n] = n < args.size() ? std::move(args[n]) : nil_value();
    entry.records = std::move(cur_.records);
    entry.stored = std::move(cur_.stored);
    entry.there = std::move(cur_.there);
    Values caller_slots = std::move(cur_.slots);
    child.call_slots = &caller_slots;
    run_frame(child, std::move(entry));
    return merge_returns(child, std::move(caller_slots));
}

Values Builder::merge_returns(Frame& child, Values caller_slots) {
    alive_ = !child.returns.empty();
    cur_ = {};
    cur_.slots = std::move(caller_slots);
    if (!alive_) return {};
    size_t count = 0;
    for (const ReturnEdge& r : child.returns) count = std::max(count, std::min<size_t>(r.values.size(), 1));
    Meeting m;
    std::vector<Edge> edges;
    for (ReturnEdge& r : child.returns) {
        m.from.push_back(r.from);
        m.values.push_back(r.values.empty() ? nil_value() : r.values[0]);
        edges.push_back({r.from, std::move(r.state), r.at});
    }
    if (edges.size() == 1) {
        w_.enter(edges[0].from);
        cur_.records = std::move(edges[0].state.records);
        cur_.stored = std::move(edges[0].state.stored);
        cur_.there = std::move(edges[0].state.there);
        return count ? Values{m.values[0]} : Values{};
    }
    m.into = w_.new_block();
    for (const Edge& e : edges) w_.jump_from(e.from, m.into);
    Values results;
    if (count) results.push_back(merge(m));
    State merged;
    merged.slots = results;  // a table that is returned stays alive
    merge_records(child, edges, m.into, merged);
    cur_.records = std::move(merged.records);
    cur_.stored = on_every_path(edges, &State::stored);
    cur_.there = on_every_path(edges, &State::there);
    w_.enter(m.into);
    return results;
}

// `try` was put into a slot to be called: the arguments are what lies between here and the call.
void Builder::begin_try(uint32_t slot) {
    const auto& code = frame_->proto->code;
    const LocalVar* local = frame_->proto->local_at(slot, pc_ + 1);
    if (local) return;  // a local alias; the call copies it first
    for (uint32_t pc = pc_ + 1; pc < code.size(); pc++) {
        const Op op = code[pc].op;
        const bool calls = op == Op::CALL || op == Op::CALLM || op == Op::CALLT || op == Op::CALLMT;
        if (!calls || code[pc].a != slot) continue;
        if (soft()) fail(Err::TRY_NESTED);
        frame_->soft_regions.push_back({pc_ + 1, pc, fn_.insts.size(), fn_.slots.size()});
        return;
    }
}

}  // namespace kpl::builder
