// SPDX-License-Identifier: MIT
// Register allocation: each virtual register gets r0 to r8, or a slot of the stack.
#pragma once

#include "base/result.hpp"
#include "codegen/mir.hpp"

namespace kpl {

// Afterwards there are no virtual registers, spill slots count from 0 without gaps, and each block tells what
// is live at its entry.
Result<void> allocate(mir::Function& function);

// Moves the virtual registers `spilled` to stack slots, with loads and stores around each use.
void spill(mir::Function& function, const std::vector<mir::Reg>& spilled);

}  // namespace kpl
