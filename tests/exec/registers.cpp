// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>

#include "passes.hpp"

namespace kpl::exec {

namespace {

// The 16 bytes of the stack for a register that has no other place.
struct Place {
    uint8_t reg = 0;
    int16_t home = 0;                            // its value
    int16_t lender() const { return home + 8; }  // of the register that stands in for it
};

void rename(bpf_insn& insn, uint8_t from, uint8_t to) {
    if (insn.dst_reg == from) insn.dst_reg = to & 15;
    if (insn.src_reg == from) insn.src_reg = to & 15;
}

// Over a call only r6 to r8 keep their values; r0 to r2 are the result and what the program is given.
uint8_t first_replaceable(const Graph& graph) {
    const bool calls = std::any_of(graph.begin(), graph.end(), [](const Step& step) { return is_call(step.insn); });
    return calls ? 6 : 3;
}

// Nor is it given anything at the start.
std::optional<uint8_t> unused_register(const Graph& graph, const State& start) {
    for (uint8_t reg = 8; reg >= first_replaceable(graph); reg--)
        if (!is_named(graph, reg) && start.regs[reg].type == KPL_T_NONE) return reg;
    return std::nullopt;
}

bool holds_pointer(const std::vector<std::optional<State>>& states, uint8_t reg) {
    return std::any_of(states.begin(), states.end(), [reg](const std::optional<State>& state) {
        return state && state->regs[reg].type != KPL_T_NONE && state->regs[reg].type != KPL_T_NUM;
    });
}

void exchange(Graph& graph, uint8_t a, uint8_t b) {
    const auto other = [a, b](uint8_t reg) -> uint8_t { return reg == a ? b : reg == b ? a : reg; };
    for (Step& step : graph) {
        step.insn.dst_reg = other(step.insn.dst_reg) & 15;
        step.insn.src_reg = other(step.insn.src_reg) & 15;
    }
}

// Only a number can be kept on the stack: where r9 holds a pointer, one that never does changes places with it.
void spare_pointer(Graph& graph, const State& start) {
    const auto states = states_of(graph, start);
    if (!is_named(graph, 9) || unused_register(graph, start) || !holds_pointer(states, 9)) return;
    for (uint8_t reg = 8; reg >= first_replaceable(graph); reg--)
        if (start.regs[reg].type == KPL_T_NONE && !holds_pointer(states, reg)) return exchange(graph, 9, reg);
}

// Helpers reach up from where a pointer points to.
bool is_free_below(int16_t end, const Graph& graph, const State& start) {
    const auto states = states_of(graph, start);
    for (size_t i = 0; i < graph.size(); i++) {
        if (!states[i]) continue;
        const auto access = access_of(graph[i].insn);
        const Value base = access ? states[i]->regs[access->base] : Value{};
        if (base.type == KPL_T_STACK && base.number + graph[i].insn.off < end) return false;
        for (const Value& value : states[i]->regs)
            if (value.type == KPL_T_STACK && value.number < end) return false;
    }
    return true;
}

std::optional<uint8_t> stand_in(const State& state, const bpf_insn& insn) {
    for (uint8_t reg = 9; reg-- > 1;)
        if (state.regs[reg].type == KPL_T_NUM && !names(insn, reg)) return reg;
    return std::nullopt;
}

// `reg` is put aside, holds what is at the place while the instruction runs, and gets its own value back on all ways
// on.
void through_the_stack(Graph& graph, size_t at, const Place& place, uint8_t reg) {
    const auto add = [&graph, at](const bpf_insn& insn, size_t next) {
        graph.push_back({insn, {}, next, 0, graph[at].origin, false});
        return graph.size() - 1;
    };
    const auto load = [reg](int16_t from) { return make(BPF_LDX | BPF_MEM | BPF_DW, reg, 10, from, 0); };
    const auto store = [reg](int16_t to) { return make(BPF_STX | BPF_MEM | BPF_DW, 10, reg, to, 0); };

    Step step = graph[at];
    const bool at_dst = step.insn.dst_reg == place.reg;
    const bool reads = step.insn.src_reg == place.reg || (at_dst && reads_dst(step.insn));
    rename(step.insn, place.reg, reg);
    step.next = add(load(place.lender()), step.next);
    if (is_condition(step.insn)) step.target = add(load(place.lender()), step.target);
    if (at_dst && writes_dst(step.insn)) step.next = add(store(place.home), step.next);
    graph.push_back(step);
    size_t begin = graph.size() - 1;
    if (reads) begin = add(load(place.home), begin);
    graph[at].insn = store(place.lender());
    graph[at].next = begin;
}

void onto_the_stack(Graph& graph, const State& start, const Place& place) {
    const auto states = states_of(graph, start);
    for (size_t i = 0; i < states.size(); i++) {
        const bpf_insn& insn = graph[i].insn;
        if (!states[i] || !names(insn, place.reg)) continue;
        if (const auto reg = stand_in(*states[i], insn)) through_the_stack(graph, i, place, *reg);
    }
}

}  // namespace

void place_registers(Graph& graph, const State& start) {
    spare_pointer(graph, start);
    std::vector<Place> places;
    std::array<uint8_t, 6> extra{9, made_register, first_kept, 13, 14, last_kept};
    const auto states = states_of(graph, start);
    std::stable_partition(extra.begin(), extra.end(), [&states](uint8_t reg) { return holds_pointer(states, reg); });
    for (const uint8_t reg : extra) {
        if (!is_named(graph, reg)) continue;
        if (const auto other = unused_register(graph, start))
            for (Step& step : graph) rename(step.insn, reg, *other);
        else
            places.push_back({reg, static_cast<int16_t>(-KPL_MAX_STACK + 16 * places.size())});
    }
    if (places.empty() || !is_free_below(static_cast<int16_t>(places.back().home + 16), graph, start)) return;
    for (const Place& place : places) onto_the_stack(graph, start, place);
}

}  // namespace kpl::exec
