// SPDX-License-Identifier: MIT
// What --cost prints: of each handler, what the verifier has proven that a hit may cost at most.
#pragma once

#include <string>
#include <vector>

#include "session/compile.hpp"

namespace kpl {

// The dearest first.
std::string print_costs(const std::vector<CompiledHandler>& handlers);

}  // namespace kpl
