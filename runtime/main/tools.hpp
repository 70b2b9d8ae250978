// SPDX-License-Identifier: MIT
// Tools: scripts that are called by their names, kprobe-lua opensnoop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

// Where the Lua files that come with the command are: tools/ and the modules that tools share.
std::string lua_directory();
// Directories of tools: those of KPROBE_LUA_TOOLS, then our own.
std::vector<std::string> tool_directories();
// The script that `word` names: nothing, if it is a path or no tool's name. "tools" is the list of them.
std::optional<std::string> find_tool(std::string_view word);
// Why `word`, which is no script, tool or command, can't be run, and what was meant by it.
std::string unknown_word(std::string_view word);
// "opensnoop", when the command is called as opensnoop-kpl.
std::optional<std::string> called_tool(const char* argv0);

}  // namespace kpl
