// SPDX-License-Identifier: MIT
// Changes of what the kernel runs: what is known of a place, and what is said of them.
#pragma once

#include <string>
#include <vector>

#include "session/report.hpp"
#include "session/targets.hpp"

namespace kpl {

// What the function of a place is marked for, and what stands against leaving it out.
Result<void> look_at_change(KernelPlace& place, Kallsyms& symbols);

// For the account: what handlers changed, and how often; empty: nothing.
std::string change_text(const std::vector<const ArmedProgram*>& programs, uint64_t moved, uint64_t handled);

}  // namespace kpl
