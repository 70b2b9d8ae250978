// SPDX-License-Identifier: MIT
// Machine instructions, registers allocated, to a program.
#pragma once

#include "codegen/mir.hpp"
#include "codegen/program.hpp"

namespace kpl {

// Fills insns, labels and notes.
void emit(const mir::Function& function, HandlerProgram& program);

}  // namespace kpl
