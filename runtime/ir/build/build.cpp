// SPDX-License-Identifier: MIT
// A unit's handlers to IR: rounds until no shape changes, then the errors or the functions of the last round.
#include <algorithm>

#include "ir/build/builder.hpp"
#include "ir/unit.hpp"

namespace kpl {
namespace {

// Shapes and hints only ever widen, so rounds end by themselves; this guards against a mistake in that.
constexpr int max_rounds = 64;

// Names the function that a handler is compiled for when it is compiled for several, under a glob or a list.
std::string one_of_many(const Unit& unit, size_t handler) {
    const HandlerDecl& one = unit.handlers[handler];
    const auto same = [&](const HandlerDecl& h) { return h.function->identity() == one.function->identity(); };
    if (!one.signature || std::count_if(unit.handlers.begin(), unit.handlers.end(), same) < 2) return {};
    return " (in the handler for " + one.signature->name + ")";
}

}  // namespace

Result<BuildResult> build(Unit& unit, Types& types, const BuildOptions& options) {
    builder::UnitState state(unit, types, options);
    BuildResult result;
    bool more = true;
    for (int round = 0; more && round < max_rounds; round++) {
        state.begin_round();
        result.functions.clear();
        for (size_t i = unit.built; i < unit.handlers.size(); i++) {
            state.diag.about(one_of_many(unit, i));
            result.functions.push_back(builder::Builder(state, i).run());
        }
        state.diag.about("");
        more = state.end_round();
    }
    if (more)
        return Error{Errc::script,
                     unit.handlers[unit.built].name + ": the types of these handlers can't be worked out"};
    if (!state.diag.has_errors()) state.finish();
    if (state.diag.has_errors()) return state.diag.error();
    unit.built = unit.handlers.size();
    for (ir::Function& f : result.functions) ir::optimize(f);
    result.warnings = state.diag.warnings();
    return result;
}

}  // namespace kpl
