// SPDX-License-Identifier: MIT
#include "holds.hpp"

#include "reference.hpp"

namespace kpl::exec {

namespace {

constexpr Value any_number{KPL_T_NUM};

// Two slots.
void load_number(std::vector<bpf_insn>& insns, uint8_t reg, int64_t number) {
    insns.push_back(make(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, static_cast<int32_t>(number)));
    insns.push_back(make(0, 0, 0, 0, static_cast<int32_t>(number >> 32)));
}

// What the RFC says that an instruction makes of numbers: the new one, or of a condition whether it is met.
std::optional<int64_t> outcome(const State& state, bpf_insn insn) {
    const Value &a = state.regs[insn.dst_reg], &b = state.regs[insn.src_reg];
    const bool two = BPF_SRC(insn.code) == BPF_X && (is_condition(insn) || BPF_OP(insn.code) != BPF_END);
    if (reads_dst(insn) && !(a.type == KPL_T_NUM && a.known)) return std::nullopt;
    if (two && !(b.type == KPL_T_NUM && b.known)) return std::nullopt;
    std::vector<bpf_insn> insns;
    load_number(insns, 0, a.number);
    load_number(insns, 1, b.number);
    insn.dst_reg = 0, insn.src_reg = 1;
    if (is_condition(insn)) insn.off = 2;
    insns.push_back(insn);
    if (is_condition(insn)) {
        insns.push_back(make(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0));
        insns.push_back(make(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
        insns.push_back(make(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1));
    }
    insns.push_back(make(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
    std::vector<uint8_t> nothing;
    const auto r0 = run_reference(insns, nothing);
    return r0 ? std::optional(static_cast<int64_t>(*r0)) : std::nullopt;
}

void compute(State& state, const bpf_insn& insn) {
    Value& to = state.regs[insn.dst_reg];
    const bool wide = BPF_CLASS(insn.code) == BPF_ALU64, constant = BPF_SRC(insn.code) == BPF_K;
    if (wide && BPF_OP(insn.code) == BPF_MOV && !constant) {
        to = state.regs[insn.src_reg];
    } else if (wide && BPF_OP(insn.code) == BPF_ADD && constant && to.type != KPL_T_NUM && to.known) {
        to.number += insn.imm;
    } else {
        const auto number = outcome(state, insn);
        to = number ? Value{KPL_T_NUM, true, *number} : any_number;
    }
}

// The 8 bytes of the stack that a store fills whole.
void store(State& state, const bpf_insn& insn) {
    const Value& to = state.regs[insn.dst_reg];
    if (to.type != KPL_T_STACK || BPF_SIZE(insn.code) != BPF_DW) return;
    const int64_t off = to.number + insn.off;
    if (off % 8 == 0 && off >= -KPL_MAX_STACK && off < 0) state.stack |= uint64_t{1} << (-off / 8 - 1);
}

}  // namespace

State start_state(const Given& given, uint32_t offset) {
    State state;
    uint8_t reg = 1;
    if (given.context) state.regs[reg++] = {KPL_T_REGS, true, 0};
    state.regs[reg++] = given.memory ? Value{KPL_T_DATA, true, offset} : Value{KPL_T_NUM, true, 0};
    state.regs[reg] = {KPL_T_NUM, true, static_cast<int64_t>(given.memory)};
    state.regs[10] = {KPL_T_STACK, true, 0};
    return state;
}

State joined(const State& a, const State& b) {
    State both;
    for (size_t i = 0; i < both.regs.size(); i++) {
        if (a.regs[i] == b.regs[i])
            both.regs[i] = a.regs[i];
        else if (a.regs[i].type == KPL_T_NUM && b.regs[i].type == KPL_T_NUM)
            both.regs[i] = any_number;
    }
    both.stack = a.stack & b.stack;
    return both;
}

State after(State state, const bpf_insn& insn) {
    switch (BPF_CLASS(insn.code)) {
        case BPF_ALU:
        case BPF_ALU64: compute(state, insn); break;
        case BPF_LD:
        case BPF_LDX: state.regs[insn.dst_reg] = any_number; break;
        case BPF_ST:
        case BPF_STX: store(state, insn); break;
        default:
            if (!is_call(insn)) break;
            for (int i = 1; i < 6; i++) state.regs[i] = {};
            state.regs[0] = any_number;
    }
    return state;
}

std::optional<bool> is_taken(const State& state, const bpf_insn& insn) {
    const auto met = outcome(state, insn);
    return met ? std::optional(*met != 0) : std::nullopt;
}

std::vector<std::optional<State>> states_of(const Graph& graph, const State& start) {
    std::vector<std::optional<State>> before(graph.size());
    std::vector<size_t> todo;
    const auto reach = [&](size_t i, const State& state) {
        if (i == off_the_end) return;
        const State now = before[i] ? joined(*before[i], state) : state;
        if (before[i] == now) return;
        before[i] = now;
        todo.push_back(i);
    };
    reach(0, start);
    while (!todo.empty()) {
        const size_t i = todo.back();
        todo.pop_back();
        const bpf_insn& insn = graph[i].insn;
        if (is_exit(insn)) continue;
        const State state = after(*before[i], insn);
        if (is_condition(insn)) reach(graph[i].target, state);
        reach(graph[i].next, state);
    }
    return before;
}

}  // namespace kpl::exec
