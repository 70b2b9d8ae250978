// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "bytecode/proto.hpp"

namespace kpl {

// What is wrong with the first instruction that does not fit its function; empty when all do. After
// read_dump, slots, constants and instructions are indexed by operands without further tests.
std::string check_code(const Proto&);

}  // namespace kpl
