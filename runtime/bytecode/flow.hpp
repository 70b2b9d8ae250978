// SPDX-License-Identifier: MIT
// Where a function's bytecode goes from an instruction, as LuaJIT executes it.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/proto.hpp"

namespace kpl {

bool ends_function(Op op);
// Comparisons and tests: the JMP that follows belongs to them.
bool is_conditional(Op op);
// Behind it is not always the instruction behind it.
bool ends_block(Op op);
// Where the jump at `pc` goes; for a comparison, where its JMP goes.
uint32_t jump_target(const Proto& proto, uint32_t pc);
// What may be executed behind the instruction at `pc`; nothing behind the end of the function.
std::vector<uint32_t> successors(const Proto& proto, uint32_t pc);

}  // namespace kpl
