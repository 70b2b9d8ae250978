// SPDX-License-Identifier: MIT
#include "main/vm_prompt.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/json_line.hpp"
#include "repl/history.hpp"
#include "repl/saved.hpp"

namespace kpl {
namespace {

namespace fs = std::filesystem;

constexpr const char* state = "/var/lib/kprobe-lua-prompt";
constexpr const char* history = "/var/lib/kprobe-lua-prompt/kprobe-lua/history";
constexpr const char* saved = "/var/lib/kprobe-lua-prompt/saved";
constexpr size_t most_history = 1 << 20;  // bytes that go in

std::string end_of_history() {
    std::ifstream file(History::usual_path(), std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.size() > most_history) text.erase(0, text.find('\n', text.size() - most_history) + 1);
    return text;
}

void add_to_history(std::string_view text, size_t known) {
    const History ours(History::usual_path());
    for (const std::string& input : History::inputs_of(text.substr(std::min(known, text.size()))))
        if (!ours.add(input)) return;
}

// investigation.lua; investigation.lua.1 where there is one.
fs::path free_name(const fs::path& wanted) {
    fs::path name = wanted;
    std::error_code error;
    for (int n = 1; fs::exists(fs::symlink_status(name, error)); n++) name = fmt::format("{}.{}", wanted.string(), n);
    return name;
}

void write_saved(const std::string& lines) {
    // By name: what was saved last counts.
    std::map<std::string, std::string> scripts;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
        const Json one = Json::parse(line, nullptr, false);
        const Json data = one.is_object() ? one.value("data", Json()) : Json();
        if (!data.is_object() || !data.value("path", Json()).is_string() || !data.value("text", Json()).is_string())
            continue;
        scripts[data["path"].get<std::string>()] = data["text"].get<std::string>();
    }
    for (const auto& [path, text] : scripts) {
        const fs::path name = free_name(path);
        std::ofstream(name) << text;
        std::cerr << (fs::exists(name) ? fmt::format("{} is saved\n", name.string())
                                       : fmt::format("can't write {}\n", name.string()));
    }
}

}  // namespace

void keep_prompts_work(GuestSpec& spec) {
    const std::string known = end_of_history();
    spec.bytes.emplace_back(history, known);
    spec.env.push_back(fmt::format("XDG_STATE_HOME={}", state));
    spec.env.push_back(fmt::format("{}={}", saved_scripts_variable, saved));
    spec.fetch.insert(spec.fetch.end(), {history, saved});
    spec.take_file = [size = known.size()](const std::string& path, const std::string& bytes) {
        if (path == history) add_to_history(bytes, size);
        if (path == saved) write_saved(bytes);
        return path == history || path == saved;
    };
}

}  // namespace kpl
