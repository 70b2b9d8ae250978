// SPDX-License-Identifier: MIT
// A unit's handlers to IR: rounds until no shape changes, then the errors or the functions of the last round.
#include "ir/build/builder.hpp"
#include "ir/unit.hpp"

namespace kpl {
namespace {

// Shapes and hints only ever widen, so rounds end by themselves; this guards against a mistake in that.
constexpr int max_rounds = 64;

}  // namespace

Result<BuildResult> build(Unit& unit, Types& types, const BuildOptions& options) {
    front::UnitState state(unit, types, options);
    BuildResult result;
    bool more = true;
    for (int round = 0; more && round < max_rounds; round++) {
        state.begin_round();
        result.functions.clear();
        for (size_t i = unit.built; i < unit.handlers.size(); i++)
            result.functions.push_back(front::Builder(state, i).run());
        more = state.end_round();
    }
    if (more) return Error{Errc::script, "the types of these handlers can't be worked out"};
    if (!state.diag.has_errors()) state.finish();
    if (state.diag.has_errors()) return Error{Errc::script, state.diag.text()};
    unit.built = unit.handlers.size();
    for (ir::Function& f : result.functions) ir::optimize(f);
    result.warnings = state.diag.warnings();
    return result;
}

}  // namespace kpl
