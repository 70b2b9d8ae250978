// SPDX-License-Identifier: MIT
// IR to handler bytecode: instruction selection, register allocation, labels for loops, and notes for each pc.
#pragma once

#include "codegen/program.hpp"
#include "ir/ir.hpp"

namespace kpl {

// Errors: the handler needs more than the stack, scratch or program length that the ABI allows.
Result<HandlerProgram> generate(const ir::Function& function);

}  // namespace kpl
