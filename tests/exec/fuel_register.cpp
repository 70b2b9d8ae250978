// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "passes.hpp"

namespace kpl::exec {

namespace {

constexpr uint8_t fuel_register = 9;
constexpr int16_t home = -KPL_MAX_STACK;  // what r9 would hold
constexpr int16_t lender = home + 8;      // what the register holds that stands in for it

bool names(const bpf_insn& insn, uint8_t reg) { return insn.dst_reg == reg || insn.src_reg == reg; }

void rename(bpf_insn& insn, uint8_t to) {
    if (insn.dst_reg == fuel_register) insn.dst_reg = to & 15;
    if (insn.src_reg == fuel_register) insn.src_reg = to & 15;
}

// Over a call only r6 to r8 keep their values; r0 to r2 are the result and what the program is given.
std::optional<uint8_t> unused_register(const Graph& graph) {
    const bool calls = std::any_of(graph.begin(), graph.end(), [](const Step& step) { return is_call(step.insn); });
    for (uint8_t reg = 8; reg >= (calls ? 6 : 3); reg--)
        if (std::none_of(graph.begin(), graph.end(), [reg](const Step& step) { return names(step.insn, reg); }))
            return reg;
    return std::nullopt;
}

// Helpers reach up from where a pointer points to.
bool is_free_below(const Graph& graph, const std::vector<std::optional<State>>& states) {
    for (size_t i = 0; i < graph.size(); i++) {
        if (!states[i]) continue;
        const auto access = access_of(graph[i].insn);
        const Value base = access ? states[i]->regs[access->base] : Value{};
        if (base.type == KPL_T_STACK && base.number + graph[i].insn.off < lender + 8) return false;
        for (const Value& value : states[i]->regs)
            if (value.type == KPL_T_STACK && value.number < lender + 8) return false;
    }
    return true;
}

std::optional<uint8_t> stand_in(const State& state, const bpf_insn& insn) {
    for (uint8_t reg = fuel_register; reg-- > 1;)
        if (state.regs[reg].type == KPL_T_NUM && !names(insn, reg)) return reg;
    return std::nullopt;
}

// `reg` is put aside, holds what r9 would while the instruction runs, and gets its own value back on all ways on.
void through_the_stack(Graph& graph, size_t at, uint8_t reg) {
    const auto add = [&graph, at](const bpf_insn& insn, size_t next) {
        graph.push_back({insn, {}, next, 0, graph[at].origin});
        return graph.size() - 1;
    };
    const auto load = [reg](int16_t from) { return make(BPF_LDX | BPF_MEM | BPF_DW, reg, 10, from, 0); };
    const auto store = [reg](int16_t to) { return make(BPF_STX | BPF_MEM | BPF_DW, 10, reg, to, 0); };

    Step step = graph[at];
    const bool at_dst = step.insn.dst_reg == fuel_register;
    const bool reads = step.insn.src_reg == fuel_register || (at_dst && reads_dst(step.insn));
    rename(step.insn, reg);
    step.next = add(load(lender), step.next);
    if (is_condition(step.insn)) step.target = add(load(lender), step.target);
    if (at_dst && writes_dst(step.insn)) step.next = add(store(home), step.next);
    graph.push_back(step);
    size_t begin = graph.size() - 1;
    if (reads) begin = add(load(home), begin);
    graph[at].insn = store(lender);
    graph[at].next = begin;
}

}  // namespace

void free_the_fuel_register(Graph& graph, const State& start) {
    if (const auto other = unused_register(graph)) {
        for (Step& step : graph) rename(step.insn, *other);
        return;
    }
    const auto states = states_of(graph, start);
    if (!is_free_below(graph, states)) return;
    for (size_t i = 0; i < states.size(); i++) {
        const bpf_insn& insn = graph[i].insn;
        if (!states[i] || !names(insn, fuel_register)) continue;
        if (const auto reg = stand_in(*states[i], insn)) through_the_stack(graph, i, *reg);
    }
}

}  // namespace kpl::exec
