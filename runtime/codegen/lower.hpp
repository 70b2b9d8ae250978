// SPDX-License-Identifier: MIT
// Instruction selection: IR to machine instructions over virtual registers.
#pragma once

#include "codegen/mir.hpp"
#include "ir/ir.hpp"

namespace kpl {

mir::Function lower(const ir::Function& function);

}  // namespace kpl
