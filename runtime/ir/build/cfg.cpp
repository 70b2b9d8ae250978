// SPDX-License-Identifier: MIT
#include "ir/build/cfg.hpp"

#include <algorithm>

namespace kpl::builder {
namespace {

constexpr uint32_t none = ~0u;

std::vector<bool> find_leaders(const Proto& p) {
    std::vector<bool> leader(p.code.size() + 2, false);
    if (p.code.size() > 1) leader[1] = true;
    for (uint32_t pc = 1; pc < p.code.size(); pc++) {
        if (!ends_block(p.code[pc].op)) continue;
        for (uint32_t to : successors(p, pc)) leader[std::min<size_t>(to, p.code.size())] = true;
    }
    return leader;
}

void make_blocks(const Proto& p, Cfg& cfg) {
    const std::vector<bool> leader = find_leaders(p);
    const uint32_t end = static_cast<uint32_t>(p.code.size());
    cfg.block_of.assign(end + 1, none);
    for (uint32_t pc = 1; pc < end;) {
        if (!leader[pc]) {
            pc++;
            continue;
        }
        BasicBlock b;
        b.first = pc;
        while (pc + 1 < end && !ends_block(p.code[pc].op) && !leader[pc + 1]) pc++;
        b.last = pc++;
        cfg.block_of[b.first] = static_cast<uint32_t>(cfg.blocks.size());
        cfg.blocks.push_back(std::move(b));
    }
    for (BasicBlock& b : cfg.blocks)
        for (uint32_t to : successors(p, b.last))
            if (to < end) b.succs.push_back(cfg.block_of[to]);
}

void post_order(Cfg& cfg, uint32_t at, std::vector<uint32_t>& out) {
    struct Visit {
        uint32_t block;
        size_t next;
    };
    std::vector<Visit> stack{{at, 0}};
    cfg.blocks[at].reachable = true;
    while (!stack.empty()) {
        Visit& v = stack.back();
        if (v.next == cfg.blocks[v.block].succs.size()) {
            out.push_back(v.block);
            stack.pop_back();
            continue;
        }
        const uint32_t to = cfg.blocks[v.block].succs[v.next++];
        if (cfg.blocks[to].reachable) continue;
        cfg.blocks[to].reachable = true;
        stack.push_back({to, 0});
    }
}

struct Effects {
    SlotSet uses, defs;
    SlotSet defs_on_jump;  // ISTC and ISFC assign only when they jump
    void use(uint32_t slot) {
        if (slot < 256) uses.set(slot);
    }
    void def(uint32_t slot) {
        if (slot < 256) defs.set(slot);
    }
    void use_range(uint32_t from, uint32_t count) {
        for (uint32_t i = 0; i < count; i++) use(from + i);
    }
    void def_range(uint32_t from, uint32_t count) {
        for (uint32_t i = 0; i < count; i++) def(from + i);
    }
};

// What a call of a function leaves above its base is lost, so everything from there counts as assigned.
void call_effects(const Insn& i, uint32_t fixed_args, Effects& e) {
    e.use(i.a);
    e.use_range(i.a + 2u, fixed_args);
    e.def_range(i.a, 256u - i.a);
}

// Opcodes whose operands are ranges, or more than their modes say.
bool special_effects(const Proto& p, const Insn& i, Effects& e) {
    switch (i.op) {
        case Op::CALL: call_effects(i, i.c ? i.c - 1u : 0, e); return true;
        case Op::CALLM: call_effects(i, i.c, e); return true;
        case Op::CALLT: call_effects(i, i.c ? i.c - 1u : 0, e); return true;
        case Op::CALLMT: call_effects(i, i.c, e); return true;
        case Op::RET:
        case Op::RET0:
        case Op::RET1: e.use_range(i.a, i.c ? i.c - 1u : 0); return true;
        case Op::RETM: e.use_range(i.a, i.c); return true;
        case Op::KNIL: e.def_range(i.a, i.c + 1u - i.a); return true;
        case Op::TSETM: e.use(i.a - 1u); return true;
        case Op::CAT:
            e.use_range(i.b, i.c + 1u - i.b);
            e.def(i.a);
            return true;
        case Op::FORI:
        case Op::FORL:
            e.use_range(i.a, 3);
            e.def(i.a);
            e.def(i.a + 3u);
            return true;
        case Op::FNEW:
            for (const UpvalueDesc& u : std::get<std::shared_ptr<const Proto>>(p.gc[i.c])->upvalues)
                if (u.local) e.use(u.slot);
            e.def(i.a);
            return true;
        case Op::ITERC:
        case Op::ITERN:
            e.use_range(i.a - 3u, 3);
            e.def_range(i.a, i.b ? i.b - 1u : 0);
            return true;
        case Op::IST:
        case Op::ISF: e.use(i.c); return true;
        default: return false;
    }
}

Effects effects(const Proto& p, const Insn& i) {
    Effects e;
    if (special_effects(p, i, e)) return e;
    const OpModes& m = op_modes(i.op);
    if (m.a == Mode::Var) e.use(i.a);
    if (m.b == Mode::Var) e.use(i.b);
    if (m.cd == Mode::Var) e.use(i.c);
    if (i.op == Op::ISTC || i.op == Op::ISFC)
        e.defs_on_jump.set(i.a);
    else if (m.a == Mode::Dst)
        e.def(i.a);
    return e;
}

void find_liveness(const Proto& p, Cfg& cfg) {
    std::vector<Effects> of_block(cfg.blocks.size());
    for (size_t n = 0; n < cfg.blocks.size(); n++) {
        const BasicBlock& b = cfg.blocks[n];
        for (uint32_t pc = b.last + 1; pc-- > b.first;) {
            const Effects e = effects(p, p.code[pc]);
            of_block[n].uses = (of_block[n].uses & ~e.defs) | e.uses;
            of_block[n].defs |= e.defs;
            of_block[n].defs_on_jump |= e.defs_on_jump;
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto it = cfg.order.rbegin(); it != cfg.order.rend(); ++it) {
            BasicBlock& b = cfg.blocks[*it];
            SlotSet live;
            for (size_t s = 0; s < b.succs.size(); s++) {
                SlotSet in = cfg.blocks[b.succs[s]].live_in;
                if (s == 0) in &= ~of_block[*it].defs_on_jump;
                live |= in;
            }
            live = (live & ~of_block[*it].defs) | of_block[*it].uses;
            changed |= live != b.live_in;
            b.live_in = live;
        }
    }
}

// Blocks from which `source` is reached without passing `head`, and what they assign.
void add_loop(const Proto& p, Cfg& cfg, uint32_t head, uint32_t source) {
    std::vector<bool> seen(cfg.blocks.size(), false);
    std::vector<uint32_t> work{source};
    seen[head] = true;
    SlotSet assigned;
    auto scan = [&](const BasicBlock& b) {
        for (uint32_t pc = b.first; pc <= b.last; pc++) {
            const Effects e = effects(p, p.code[pc]);
            assigned |= e.defs | e.defs_on_jump;
        }
    };
    scan(cfg.blocks[head]);
    while (!work.empty()) {
        const uint32_t at = work.back();
        work.pop_back();
        if (seen[at]) continue;
        seen[at] = true;
        scan(cfg.blocks[at]);
        for (uint32_t pred : cfg.blocks[at].preds) work.push_back(pred);
    }
    cfg.blocks[head].loop_head = true;
    cfg.blocks[head].assigned |= assigned;
}

}  // namespace

Cfg make_cfg(const Proto& proto) {
    Cfg cfg;
    make_blocks(proto, cfg);
    if (cfg.blocks.empty()) return cfg;
    post_order(cfg, 0, cfg.order);
    std::reverse(cfg.order.begin(), cfg.order.end());
    for (uint32_t i = 0; i < cfg.order.size(); i++) cfg.blocks[cfg.order[i]].order = i;
    for (uint32_t from : cfg.order)
        for (uint32_t to : cfg.blocks[from].succs) cfg.blocks[to].preds.push_back(from);
    find_liveness(proto, cfg);
    for (uint32_t from : cfg.order)
        for (uint32_t to : cfg.blocks[from].succs)
            if (cfg.blocks[to].order <= cfg.blocks[from].order) add_loop(proto, cfg, to, from);
    return cfg;
}

}  // namespace kpl::builder
