// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace kpl {

// Text as a string of a Lua script.
inline std::string lua_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\' || c == '\n') quoted += '\\';
        quoted += c;
    }
    return quoted + "\"";
}

}  // namespace kpl
