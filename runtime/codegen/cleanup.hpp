// SPDX-License-Identifier: MIT
// Small passes that leave out what does nothing.
#pragma once

#include "codegen/mir.hpp"

namespace kpl {

// Before allocation: what computes a register that nobody reads.
void remove_dead(mir::Function& function);

// Before allocation: a register that is only copied to another becomes that one, where they don't interfere.
void coalesce(mir::Function& function);

// After allocation: copies to where the value is already, loads of spill slots that a register still holds.
void remove_redundant_copies(mir::Function& function);

// Blocks that only jump on to later code; jumps go there at once.
void thread_jumps(mir::Function& function);

}  // namespace kpl
