// SPDX-License-Identifier: MIT
#include "session/costs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kpl {
namespace {

struct Cost {
    const HandlerProgram* program;
    uint32_t cost, budget;
};

std::vector<Cost> dearest_first(const std::vector<CompiledHandler>& handlers) {
    std::vector<Cost> costs;
    for (const CompiledHandler& one : handlers)
        costs.push_back({&one.program, one.cost, one.program.budget ? one.program.budget : KPL_DEFAULT_BUDGET});
    std::stable_sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.cost > b.cost; });
    return costs;
}

}  // namespace

std::string print_costs(const std::vector<CompiledHandler>& handlers) {
    std::string out = fmt::format("{:>8} {:>8} {:>12}  {}\n", "COST", "BUDGET", "INSTRUCTIONS", "HANDLER");
    for (const Cost& one : dearest_first(handlers))
        out += fmt::format("{:>8} {:>8} {:>12}  {}\n", one.cost, one.budget, one.program->insns.size(), one.program->name);
    return out;
}

}  // namespace kpl
