// SPDX-License-Identifier: MIT
#include <limits>
#include <map>
#include <utility>

#include "passes.hpp"

namespace kpl::exec {

namespace {

// Whether RFC 9669 has it: what is malformed stays, for the verifier to refuse.
bool is_condition_of_rfc(const bpf_insn& insn) {
    const int op = BPF_OP(insn.code);
    const bool known = (op >= BPF_JEQ && op <= BPF_JSGE && op != BPF_CALL) || (op >= BPF_JLT && op <= BPF_JSLE);
    return is_condition(insn) && known && !(BPF_SRC(insn.code) == BPF_X ? insn.imm : insn.src_reg);
}

// What is known takes the place of what is computed: the number that is added to a pointer, and the way of a jump.
void fold(Step& step, const State& state) {
    bpf_insn& insn = step.insn;
    const Value &to = state.regs[insn.dst_reg], &from = state.regs[insn.src_reg];
    const bool minus = insn.code == (BPF_ALU64 | BPF_SUB | BPF_X);
    const int64_t sum = minus ? static_cast<int64_t>(0 - static_cast<uint64_t>(from.number)) : from.number;
    if ((minus || insn.code == (BPF_ALU64 | BPF_ADD | BPF_X)) && !insn.imm && to.type != KPL_T_NUM &&
        from.type == KPL_T_NUM && from.known && sum == static_cast<int32_t>(sum)) {
        insn = make(BPF_ALU64 | BPF_ADD | BPF_K, insn.dst_reg, 0, insn.off, static_cast<int32_t>(sum));
    } else if (is_condition_of_rfc(insn)) {
        const auto taken = is_taken(state, insn);
        if (!taken) return;
        if (*taken) step.next = step.target;
        insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
    }
}

// The registers whose numbers may come to be added to a pointer or decide a jump, by bits; what only counts or sums up
// is not among them, and would make a turn of a loop differ from all others.
uint32_t that_matter(const Graph& graph, const State& start) {
    const auto states = states_of(graph, start);
    uint32_t matter = 0, before = 0;
    const auto is_computed = [](const bpf_insn& insn) {
        return (BPF_CLASS(insn.code) == BPF_ALU || BPF_CLASS(insn.code) == BPF_ALU64) && BPF_SRC(insn.code) == BPF_X;
    };
    for (size_t i = 0; i < graph.size(); i++) {
        const bpf_insn& insn = graph[i].insn;
        const auto is_number = [&](uint8_t reg) { return states[i] && states[i]->regs[reg].type == KPL_T_NUM; };
        const uint32_t dst = 1u << insn.dst_reg, src = 1u << insn.src_reg;
        if (is_condition(insn)) matter |= dst | (BPF_SRC(insn.code) == BPF_X ? src : 0);
        if (is_computed(insn) && !(is_number(insn.dst_reg) && is_number(insn.src_reg))) matter |= dst | src;
    }
    do {
        before = matter;
        for (const Step& step : graph)
            if (is_computed(step.insn) && matter >> step.insn.dst_reg & 1) matter |= 1u << step.insn.src_reg;
    } while (matter != before);
    return matter;
}

}  // namespace

std::optional<Graph> unfolded(const Graph& graph, const State& start) {
    const uint32_t matter = that_matter(graph, start);
    std::map<std::pair<size_t, State>, size_t> placed;
    std::vector<const decltype(placed)::value_type*> todo;
    const auto place = [&](size_t step, State state) {
        for (size_t n = 0; n < graph.size() && step != off_the_end && is_plain_jump(graph[step].insn); n++)
            step = graph[step].next;
        if (step == off_the_end) return off_the_end;
        for (size_t reg = 0; reg < state.regs.size(); reg++)
            if (state.regs[reg].type == KPL_T_NUM && !(matter >> reg & 1)) state.regs[reg] = {KPL_T_NUM};
        const auto [at, is_new] = placed.emplace(std::pair{step, state}, placed.size());
        if (is_new) todo.push_back(&*at);
        return at->second;
    };
    Graph out;
    place(0, start);
    while (!todo.empty()) {
        const auto& [key, at] = *todo.back();
        todo.pop_back();
        if (placed.size() > KPL_MAX_INSNS) return std::nullopt;
        Step step = graph[key.first];
        fold(step, key.second);
        const State state = after(key.second, step.insn);
        if (is_condition(step.insn)) step.target = place(step.target, state);
        if (!is_exit(step.insn)) step.next = place(step.next, state);
        out.resize(placed.size());
        out[at] = step;
    }
    return out;
}

}  // namespace kpl::exec
