// SPDX-License-Identifier: MIT
// Strings that are made only to be kept in instance data are made there: `p.data.path = ustr(name)` takes one
// helper.
#pragma once

#include "ir/ir.hpp"

namespace kpl {

void forward_strings(ir::Function& function);

}  // namespace kpl
