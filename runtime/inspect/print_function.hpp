// SPDX-License-Identifier: MIT
// A function and its probe points, for people and for programs.
#pragma once

#include <string>

#include "inspect/inspector.hpp"

namespace kpl {

Result<std::string> print_function(const FunctionView& view, Kallsyms& symbols);
// One line of JSON: {"type": "function", "data": {…, "instructions": […]}}.
Result<std::string> json_function(const FunctionView& view, Kallsyms& symbols);

}  // namespace kpl
