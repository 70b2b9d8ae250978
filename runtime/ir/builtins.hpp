// SPDX-License-Identifier: MIT
// What handlers may call.
#pragma once

#include <string_view>
#include <vector>

namespace kpl {

// The names of the handler language's own functions: "pid", "str"; not those of Lua's tables, as "bit.band".
std::vector<std::string_view> handler_functions();

}  // namespace kpl
