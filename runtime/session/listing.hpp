// SPDX-License-Identifier: MIT
// What -d prints: listings with the script's own lines between theirs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "codegen/program.hpp"
#include "device/device.hpp"

namespace kpl {

// `listing` with the text of the script's line before the first instruction of each. What names a line is a comment
// `; file:line` or, in listings of LuaJIT's bytecode, `[line]` behind the instruction's number.
std::string with_script_lines(std::string_view listing);

// The native code of a loaded program, with the script's lines. `name_of` names the targets of calls.
Result<std::string> print(const HandlerProgram& program, const NativeCode& code,
                          const std::function<std::string(uint64_t)>& name_of);

}  // namespace kpl
