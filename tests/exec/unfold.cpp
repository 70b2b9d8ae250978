// SPDX-License-Identifier: MIT
#include <limits>
#include <map>
#include <utility>

#include "passes.hpp"

namespace kpl::exec {

namespace {

// What is known takes the place of what is computed: the number that is added to a pointer, and the way of a jump.
void fold(Step& step, const State& state) {
    bpf_insn& insn = step.insn;
    const Value &to = state.regs[insn.dst_reg], &from = state.regs[insn.src_reg];
    if (insn.code == (BPF_ALU64 | BPF_ADD | BPF_X) && to.type != KPL_T_NUM && from.type == KPL_T_NUM && from.known &&
        from.number == static_cast<int32_t>(from.number)) {
        insn = make(BPF_ALU64 | BPF_ADD | BPF_K, insn.dst_reg, 0, insn.off, static_cast<int32_t>(from.number));
    } else if (is_condition(insn) && !(BPF_SRC(insn.code) == BPF_X ? insn.imm : insn.src_reg)) {
        const auto taken = is_taken(state, insn);
        if (!taken) return;
        if (*taken) step.next = step.target;
        insn = make(BPF_JMP | BPF_JA, 0, 0, 0, 0);
    }
}

}  // namespace

Graph unfolded(const Graph& graph, const State& start) {
    std::map<std::pair<size_t, State>, size_t> placed;
    std::vector<const decltype(placed)::value_type*> todo;
    const auto place = [&](size_t step, const State& state) {
        if (step == off_the_end) return off_the_end;
        const auto [at, is_new] = placed.emplace(std::pair{step, state}, placed.size());
        if (is_new) todo.push_back(&*at);
        return at->second;
    };
    Graph out;
    place(0, start);
    while (!todo.empty()) {
        const auto& [key, at] = *todo.back();
        todo.pop_back();
        if (placed.size() > KPL_MAX_INSNS) return graph;
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
