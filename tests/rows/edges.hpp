// SPDX-License-Identifier: MIT
// Rows that need no file: every argument of every helper at the edges of what it may be. Each row differs from
// an accepted call in that argument alone; what is expected comes from arithmetic in 64 bits, not from the
// verifier's code.
#pragma once

#include <vector>

#include "rows/rows.hpp"

namespace kpl::rows {

Result<std::vector<Row>> edge_rows();

}  // namespace kpl::rows
