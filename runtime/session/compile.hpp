// SPDX-License-Identifier: MIT
// Declarations to handler programs: which handlers there are, for which places, compiled and verified.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/program.hpp"
#include "ir/unit.hpp"
#include "session/direct.hpp"
#include "session/options.hpp"
#include "session/targets.hpp"

namespace kpl {

// One probe to attach: a place and the handlers (indices into Unit::handlers, -1: none) that run there.
struct PlannedProbe {
    uint32_t declaration = 0;
    KernelPlace place;
    int handlers[3] = {-1, -1, -1};
    DirectCall direct{};  // of a return probe
    uint32_t id = 0;      // once it is armed: the module's
};

// Adds the handlers of a declaration to the unit: one set for each distinct parameter list among its places.
Result<std::vector<PlannedProbe>> plan_probe(const ProbeDecl& probe, uint32_t number, std::vector<KernelPlace> places,
                                             Unit& unit, Types& types);

// Programs for the handlers of the unit that have none yet, in order, each accepted by the verifier. `dump` receives
// the text of each stage that the options ask for; `warn` each warning. `symbols` know the addresses of kaddr() and
// kvar().
struct CompiledHandler {
    HandlerProgram program;
    uint32_t cost = 0;  // without what loops may repeat
};
Result<std::vector<CompiledHandler>> compile_unit(Unit& unit, Types& types, const Options& options,
                                                  const std::function<void(const std::string&)>& dump,
                                                  const std::function<void(const Warning&)>& warn,
                                                  Kallsyms* symbols = nullptr);

}  // namespace kpl
