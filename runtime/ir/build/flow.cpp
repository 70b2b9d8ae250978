// SPDX-License-Identifier: MIT
// Blocks and the edges between them.
#include <algorithm>

#include "ir/build/builder.hpp"

namespace kpl::builder {

using namespace ir;

namespace {

// Names a block of a function that is interpreted at this place, from round to round.
std::string block_key(const Frame& frame, uint32_t block) { return frame.key + ":" + std::to_string(block); }

// The tables under construction that a value leads to: it, a cell's key, what a local function has captured.
void find_tables(const Value& v, std::set<uint32_t>& into) {
    if (v.is(Kind::Record)) into.insert(v.index);
    if (v.key)
        for (const Value& key : *v.key) find_tables(key, into);
    if (v.function)
        for (const Value& upvalue : v.function->upvalues) find_tables(upvalue, into);
}

}  // namespace

// Tables of this frame that nothing leads to any more are not carried along; one that another holds is kept with it.
void Builder::drop_records(const Frame& frame, State& state) {
    if (state.records.empty() || state.records.rbegin()->first < frame.first_record) return;
    std::set<uint32_t> live, next;
    for (const Value& v : state.slots) find_tables(v, next);
    for (const auto& [id, record] : state.records)
        if (id < frame.first_record) next.insert(id);
    while (!next.empty()) {
        const uint32_t id = *next.begin();
        next.erase(next.begin());
        const auto it = state.records.find(id);
        if (!live.insert(id).second || it == state.records.end()) continue;
        for (const auto& [name, v] : it->second.fields) find_tables(v, next);
        for (const auto& [number, v] : it->second.elements) find_tables(v, next);
    }
    std::erase_if(state.records, [&](const auto& record) { return !live.contains(record.first); });
}

void Builder::run_frame(Frame& frame, State entry) {
    const Cfg& cfg = *frame.cfg;
    frame.incoming.assign(cfg.blocks.size(), {});
    frame.entered.assign(cfg.blocks.size(), false);
    Frame* const caller = std::exchange(frame_, &frame);
    const uint32_t caller_pc = pc_;
    const SourceLoc caller_line = w_.line();
    frame.incoming[0].push_back({w_.block(), std::move(entry), w_.line()});
    // One round does, unless a constant condition cut off the way by which a loop is entered first.
    for (bool again = true; again;) {
        again = false;
        for (uint32_t block : cfg.order) {
            if (frame.incoming[block].empty() || frame.entered[block]) continue;
            run_block(frame, block);
            again = true;
        }
    }
    frame_ = caller;
    pc_ = caller_pc;
    w_.set_line(caller_line);
}

void Builder::run_block(Frame& frame, uint32_t block) {
    const BasicBlock& b = frame.cfg->blocks[block];
    enter_block(frame, block);
    alive_ = true;
    for (pc_ = b.first; pc_ <= b.last && alive_; pc_++) {
        w_.set_line(frame.proto->loc(pc_));
        step(frame.proto->code[pc_]);
    }
    if (alive_) go_to(b.last + 1, w_.block(), std::move(cur_));
}

void Builder::enter_block(Frame& frame, uint32_t block) {
    const BasicBlock& b = frame.cfg->blocks[block];
    std::vector<Edge> edges = std::move(frame.incoming[block]);
    frame.incoming[block].clear();
    frame.entered[block] = true;
    const bool is_head = b.loop_head || s_.extra_heads.contains(block_key(frame, block));
    if (!is_head && edges.size() == 1) {
        w_.enter(edges[0].from);
        cur_ = std::move(edges[0].state);
        return;
    }
    // What does not fit together is reported where the last of the ways ends, not at what follows.
    w_.set_line(edges[0].at);
    for (const Edge& e : edges)
        if (e.at.line > w_.line().line) w_.set_line(e.at);
    pc_ = b.first;
    const BlockId into = w_.new_block();
    for (const Edge& e : edges) w_.jump_from(e.from, into);
    LoopHead* head = nullptr;
    if (is_head) {
        head = &frame.heads[block];
        head->block = into;
    }
    cur_ = merge_states(frame, block, edges, into, head);
    w_.enter(into);
}

State Builder::merge_states(Frame& frame, uint32_t block, std::vector<Edge>& edges, BlockId into, LoopHead* head) {
    const BasicBlock& b = frame.cfg->blocks[block];
    State merged;
    merged.slots.resize(edges[0].state.slots.size());
    Meeting m;
    m.into = into;
    for (const Edge& e : edges) m.from.push_back(e.from);
    for (uint32_t slot = 0; slot < merged.slots.size(); slot++) {
        if (!b.live_in.test(slot)) continue;
        m.values.clear();
        for (const Edge& e : edges) m.values.push_back(e.state.slots[slot]);
        m.force = head && (!b.loop_head || b.assigned.test(slot));
        const LocalVar* local = frame.proto->local_at(slot, b.first);
        m.name = local ? local->name : "";
        const auto hint = s_.hints.find(block_key(frame, block) + ":" + std::to_string(slot));
        m.hint = m.force && hint != s_.hints.end() ? &hint->second : nullptr;
        merged.slots[slot] = merge(m);
        if (m.force) head->vars.push_back({slot, merged.slots[slot], m.values});
    }
    merge_records(frame, edges, into, merged);
    merged.stored = on_every_path(edges, &State::stored);
    merged.there = on_every_path(edges, &State::there);
    if (!head) return merged;
    for (const std::string& name : s_.taken_back[block_key(frame, block)]) merged.stored.erase(name);
    head->records = merged.records;
    head->stored = merged.stored;
    return merged;
}

std::set<std::string> Builder::on_every_path(const std::vector<Edge>& edges, std::set<std::string> State::*names) {
    std::set<std::string> all = edges[0].state.*names;
    for (const Edge& e : edges)
        std::erase_if(all, [&](const std::string& name) { return !(e.state.*names).contains(name); });
    return all;
}

// Tables under construction: those that are still in use, field by field.
void Builder::merge_records(Frame& frame, const std::vector<Edge>& edges, BlockId into, State& merged) {
    std::set<uint32_t> live;
    for (const Value& v : merged.slots) find_tables(v, live);
    for (const auto& [id, first] : edges[0].state.records) {
        if (id >= frame.first_record && !live.contains(id)) continue;
        RecordState& to = merged.records[id];
        to.at = first.at;
        to.site = first.site;
        Meeting m;
        m.into = into;
        for (const Edge& e : edges) m.from.push_back(e.from);
        auto merge_all = [&](auto member) {
            std::set<typename std::remove_reference_t<decltype(first.*member)>::key_type> names;
            for (const Edge& e : edges)
                if (const auto it = e.state.records.find(id); it != e.state.records.end())
                    for (const auto& [name, v] : it->second.*member) names.insert(name);
            for (const auto& name : names) {
                m.values.clear();
                for (const Edge& e : edges) {
                    const auto it = e.state.records.find(id);
                    const bool has = it != e.state.records.end() && (it->second.*member).contains(name);
                    m.values.push_back(has ? (it->second.*member).at(name) : nil_value());
                }
                (to.*member)[name] = merge(m);
            }
        };
        merge_all(&RecordState::fields);
        merge_all(&RecordState::elements);
    }
}

void Builder::go_to(uint32_t pc, BlockId from, State state) {
    Frame& frame = *frame_;
    const uint32_t block = frame.cfg->block_of[pc];
    const SlotSet& live = frame.cfg->blocks[block].live_in;
    for (uint32_t slot = 0; slot < state.slots.size(); slot++)
        if (!live.test(slot)) state.slots[slot] = {};
    state.open.clear();
    drop_records(frame, state);
    if (!frame.entered[block]) {
        frame.incoming[block].push_back({from, std::move(state), w_.line()});
        return;
    }
    if (frame.heads.contains(block)) {
        close_loop(frame, block, from, std::move(state));
        return;
    }
    // A goto into the middle of a loop whose beginning was cut off: next time this block is known to be one's
    // head.
    s_.extra_heads.insert(block_key(frame, block));
    s_.changed = true;
}

// Strings that one of the loop's copies would overwrite before another has read them move to a slot of their
// own.
void Builder::save_strings(const LoopHead& head, BlockId from, State& state) {
    std::set<SlotId> targets;
    for (const LoopVar& var : head.vars)
        if (var.value.is(Kind::String)) targets.insert(var.value.str.index);
    for (const LoopVar& var : head.vars) {
        Value& v = state.slots[var.slot];
        if (!v.is(Kind::String) || v.literal || v.str.where != StrRef::Where::Slot) continue;
        if (!targets.contains(v.str.index) || (var.value.is(Kind::String) && v.str == var.value.str)) continue;
        const StrRef copy{.index = w_.new_slot(KPL_STR_SIZE(v.str.limit)), .limit = v.str.limit};
        copy_string_in(from, copy, v);
        v.str = copy;
    }
}

// Whether `v` has the type that the variable has at the loop's head. If another type would hold both, the
// handler is built again with it.
bool Builder::fits_loop(const Frame& frame, uint32_t block, const LoopVar& var, const Value& v) {
    if (var.value.is_poison() || v.is_poison()) return false;
    const LocalVar* local = frame.proto->local_at(var.slot, frame.cfg->blocks[block].first);
    const std::string key = block_key(frame, block) + ":" + std::to_string(var.slot);
    const auto hint = s_.hints.find(key);
    std::vector<Value> all = var.entering;
    all.push_back(v);
    const std::optional<Type> need =
        joined_type(all, hint == s_.hints.end() ? nullptr : &hint->second, local ? local->name : "");
    if (!need) return false;
    if (*need == var.value.type) return true;
    s_.hints[key] = *need;
    s_.changed = true;
    return false;
}

void Builder::close_loop(Frame& frame, uint32_t block, BlockId from, State state) {
    const LoopHead& head = frame.heads.at(block);
    w_.jump_from(from, head.block);
    save_strings(head, from, state);
    for (const LoopVar& var : head.vars) {
        const Value& v = state.slots[var.slot];
        const Value& to = var.value;
        // What does not fit was reported or is built again: any number will do.
        const bool fits = fits_loop(frame, block, var, v);
        if (to.id != no_value) {
            const ValueId arg = fits ? number_in(from, v) : w_.constant_in(from, 0);
            fn_.insts[to.id].args.push_back(arg);
        }
        if (to.present != no_value) {
            const ValueId arg = fits ? presence_in(from, v) : w_.constant_in(from, 0);
            fn_.insts[to.present].args.push_back(arg);
        }
        if (to.is(Kind::String) && fits) copy_string_in(from, to.str, v);
    }
    for (const std::string& name : head.stored)
        if (!state.stored.contains(name)) s_.changed |= s_.taken_back[block_key(frame, block)].insert(name).second;
    auto equal = [](const auto& a, const auto& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
    };
    for (const auto& [id, record] : head.records) {
        const auto it = state.records.find(id);
        if (it == state.records.end()) continue;
        if (!equal(record.fields, it->second.fields) || !equal(record.elements, it->second.elements))
            fail(Err::TABLE_IN_LOOP, record_name(id));
    }
}

std::pair<BlockId, BlockId> Builder::fork(Cmp cmp, ValueId a, ValueId b) {
    const BlockId yes = w_.new_block(), no = w_.new_block();
    w_.branch(cmp, a, b, yes, no);
    return {yes, no};
}

void Builder::branch_on(const Condition& c, State yes, State no, uint32_t yes_pc, uint32_t no_pc) {
    alive_ = false;
    if (c.known) {
        go_to(*c.known ? yes_pc : no_pc, w_.block(), *c.known ? std::move(yes) : std::move(no));
        return;
    }
    const auto [yes_block, no_block] = fork(c.cmp, c.a, c.b);
    go_to(yes_pc, yes_block, std::move(yes));
    go_to(no_pc, no_block, std::move(no));
}

void Builder::stop_if(Cmp cmp, ValueId a, ValueId b, kpl_stop reason, const std::string& what) {
    const auto [yes, no] = fork(cmp, a, b);
    w_.enter(yes);
    w_.leave(Stop{reason}, what);
    w_.enter(no);
}

}  // namespace kpl::builder
