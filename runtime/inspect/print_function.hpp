// SPDX-License-Identifier: MIT
// A function and its probe points, for people and for programs.
#pragma once

#include <string>

#include "arch/disasm.hpp"
#include "inspect/inspector.hpp"

namespace kpl {

// The instructions, one for each point; they refer to view.code.
Result<std::vector<NativeInsn>> native_code(const FunctionView& view);

Result<std::string> print_function(const FunctionView& view, Kallsyms& symbols);
// One line of JSON: {"type": "function", "data": {…, "instructions": […]}}.
Result<std::string> json_function(const FunctionView& view, Kallsyms& symbols);

}  // namespace kpl
