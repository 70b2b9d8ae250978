// SPDX-License-Identifier: MIT
#include "main/tools.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace kpl {

namespace fs = std::filesystem;

std::string lua_directory() {
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const char* place : {"lua", "../share/kprobe-lua"})  // as built; as installed
        if (fs::is_directory(own / place, error)) return (own / place).lexically_normal();
    return {};
}

std::vector<std::string> tool_directories() {
    std::vector<std::string> found;
    std::istringstream named(std::getenv("KPROBE_LUA_TOOLS") ? std::getenv("KPROBE_LUA_TOOLS") : "");
    for (std::string dir; std::getline(named, dir, ':');)
        if (!dir.empty()) found.push_back(dir);
    if (const std::string own = lua_directory(); !own.empty()) found.push_back(own + "/tools");
    return found;
}

std::optional<std::string> find_tool(std::string_view word) {
    if (word.empty() || word == "-" || word.find('/') != word.npos || word.ends_with(".lua")) return {};
    std::error_code error;
    if (word == "tools")
        if (const std::string list = lua_directory() + "/kprobe/tools.lua"; fs::is_regular_file(list, error))
            return list;
    for (const std::string& dir : tool_directories())
        if (const fs::path file = fs::path(dir) / (std::string(word) + ".lua"); fs::is_regular_file(file, error))
            return file;
    return {};
}

std::optional<std::string> called_tool(const char* argv0) {
    const std::string name = fs::path(argv0 ? argv0 : "").filename();
    constexpr std::string_view end = "-kpl";
    if (!name.ends_with(end) || !find_tool(name.substr(0, name.size() - end.size()))) return {};
    return name.substr(0, name.size() - end.size());
}

}  // namespace kpl
