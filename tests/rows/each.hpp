// SPDX-License-Identifier: MIT
// Rows that need no file: each register, each slot of the stack, each operation on each kind of pointer, each width of
// an access at the ends of each object. What is expected comes from the tables in each.cpp, not from the verifier's
// code.
#pragma once

#include <vector>

#include "rows/rows.hpp"

namespace kpl::rows {

Result<std::vector<Row>> each_rows();

}  // namespace kpl::rows
