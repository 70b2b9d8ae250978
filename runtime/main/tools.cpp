// SPDX-License-Identifier: MIT
#include "main/tools.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "hints/other_tracers.hpp"
#include "main/commands.hpp"
#include "symbols/nearest.hpp"

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

std::string unknown_word(std::string_view word) {
    const std::string text = fmt::format("there is no script or tool '{}'", word);
    std::error_code error;
    if (fs::is_regular_file(word, error))
        return fmt::format("there is no tool '{0}'; to run that file: kprobe-lua ./{0}", word);
    if (const auto theirs = foreign_command(word)) return text + ": " + *theirs;
    if (const auto theirs = foreign_target(word)) return fmt::format("{}: {}, in -e or a script", text, *theirs);
    if (word.find_first_of("*?") != word.npos)
        return fmt::format("{}: kprobe-lua -l '{}' lists functions, kprobe-lua funccount '{}' counts their calls", text,
                           word, word);
    Nearest nearest{std::string(word)};
    for (const std::string_view command : command_names()) nearest.offer(command);
    for (const std::string& dir : tool_directories())
        for (const auto& entry : fs::directory_iterator(dir, error))
            if (entry.path().extension() == ".lua") nearest.offer(entry.path().stem().string());
    const std::string near = did_you_mean(nearest.names());
    return text + (near.empty() ? "; kprobe-lua tools lists the tools, -e takes a script in one line" : near);
}

std::optional<std::string> called_tool(const char* argv0) {
    const std::string name = fs::path(argv0 ? argv0 : "").filename();
    constexpr std::string_view end = "-kpl";
    if (!name.ends_with(end) || !find_tool(name.substr(0, name.size() - end.size()))) return {};
    return name.substr(0, name.size() - end.size());
}

}  // namespace kpl
