// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "bytecode/proto.hpp"

namespace kpl {

// The first operand that does not fit its function, as text; empty when all do. What comes after read_dump
// indexes slots, constants and instructions by operands without further tests.
std::string check_operands(const Proto&);

}  // namespace kpl
