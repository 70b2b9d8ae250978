// SPDX-License-Identifier: MIT
#include "session/costs.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>

namespace kpl {
namespace {

struct Cost {
    const HandlerProgram* program;
    uint32_t cost, budget;
};

// What a loop costs is bounded when it runs, by the budget.
bool has_loop(const HandlerProgram& program) {
    return std::any_of(program.insns.begin(), program.insns.end(), [](const bpf_insn& insn) {
        const bool jump = BPF_CLASS(insn.code) == BPF_JMP || BPF_CLASS(insn.code) == BPF_JMP32;
        return jump && BPF_OP(insn.code) != BPF_CALL && BPF_OP(insn.code) != BPF_EXIT && insn.off < 0;
    });
}

std::vector<Cost> dearest_first(const std::vector<CompiledHandler>& handlers) {
    std::vector<Cost> costs;
    for (const CompiledHandler& one : handlers) {
        const uint32_t budget = one.program.budget ? one.program.budget : KPL_DEFAULT_BUDGET;
        costs.push_back({&one.program, has_loop(one.program) ? budget : one.cost, budget});
    }
    std::stable_sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.cost > b.cost; });
    return costs;
}

}  // namespace

std::string print_costs(const std::vector<CompiledHandler>& handlers) {
    std::string out = fmt::format("{:>8} {:>8} {:>12}  {}\n", "COST", "BUDGET", "INSTRUCTIONS", "HANDLER");
    for (const Cost& one : dearest_first(handlers))
        out +=
            fmt::format("{:>8} {:>8} {:>12}  {}\n", one.cost, one.budget, one.program->insns.size(), one.program->name);
    return out;
}

}  // namespace kpl
