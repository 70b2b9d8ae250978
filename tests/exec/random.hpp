// SPDX-License-Identifier: MIT
// Random programs that the verifier accepts, with their memory, as lines of kprobe-lua-exec --batch: arithmetic of both
// widths, loads and stores of all sizes to memory and stack, by pointers that are copied and moved, calls of helpers
// that work on their arguments alone, jumps forward, and loops back.
#pragma once

#include <cstdint>
#include <string>

namespace kpl::exec {

std::string random_line(uint64_t seed);

}  // namespace kpl::exec
