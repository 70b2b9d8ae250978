// SPDX-License-Identifier: MIT
#include <algorithm>
#include <optional>

#include "passes.hpp"

namespace kpl::exec {

namespace {

constexpr uint8_t fuel_register = 9;

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

}  // namespace

void free_the_fuel_register(Graph& graph) {
    if (const auto other = unused_register(graph))
        for (Step& step : graph) rename(step.insn, *other);
}

}  // namespace kpl::exec
