// SPDX-License-Identifier: MIT
// Which functions' returns can be had by direct calls, as far as their declarations tell. The module knows the rest.
#pragma once

#include <cstdint>
#include <string_view>

#include "session/targets.hpp"
#include "symbols/types.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl {

struct DirectCall {
    kpl_why why = KPL_WHY_NONE;  // not to be had
    uint32_t stack_args = 0;     // words of arguments that the caller puts on the stack
};

// Of the System V calling convention of x86-64.
Result<DirectCall> direct_call(Types& types, const KernelPlace& place);

// Functions that don't return, or not as they were called.
bool returns_otherwise(std::string_view function);

const char* why_text(uint32_t why);

}  // namespace kpl
