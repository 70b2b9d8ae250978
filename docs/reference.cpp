// SPDX-License-Identifier: MIT
// What is written from the table of options: the manual page's source, and bash's completion.
//
//   reference manual kprobe-lua.1.scd   the page, with the options in the place of @OPTIONS@
//   reference bash kprobe-lua.bash      the completion, with @OPTIONS@, @VALUES@ and @COMMANDS@ replaced
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "main/command_line.hpp"
#include "main/commands.hpp"

namespace {

void replace(std::string& text, const std::string& what, const std::string& by) {
    for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
}

// scdoc's own characters stand for themselves.
std::string plain(std::string text) {
    for (const char* special : {"\\", "*", "<"}) replace(text, special, std::string("\\") + special);
    return text;
}

std::string manual_options() {
    std::string out;
    for (const kpl::OptionHelp& row : kpl::options_help()) {
        std::string names;
        for (const std::string& name : row.names) names += fmt::format("{}*{}*", names.empty() ? "" : ", ", name);
        if (!row.value.empty()) names += (row.takes_value() ? " " : "") + plain(row.value);
        std::string help = plain(row.help);
        if (help[0] >= 'a' && help[0] <= 'z') help[0] = static_cast<char>(help[0] - 'a' + 'A');
        out +=
            fmt::format("{}\n\t{}.{}\n\n", names, help, row.environment.empty() ? "" : " Or " + row.environment + ".");
    }
    return out;
}

// A line of bash's `case` for each option that takes a value: its choices, files, or nothing that could be known.
std::string bash_values() {
    std::string out;
    for (const kpl::OptionHelp& row : kpl::options_help()) {
        if (!row.takes_value()) continue;
        std::string names, words;
        for (const std::string& name : row.names) names += (names.empty() ? "" : "|") + name;
        for (const char c : row.value) words += c == '|' ? ' ' : c;
        const bool choices = row.value.find('|') != row.value.npos;
        const std::string how = choices               ? fmt::format("_kprobe_lua_words \"{}\"", words)
                                : row.value == "FILE" ? "_kprobe_lua_files"
                                : row.value == "DIR"  ? "_kprobe_lua_files -d"
                                                      : "COMPREPLY=()";
        out += fmt::format("        {}) {}; return ;;\n", names, how);
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    std::ifstream in(argv[2]);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) return 1;
    std::string options, commands;
    for (const kpl::OptionHelp& row : kpl::options_help())
        for (const std::string& name : row.names)
            options += name + (row.value.starts_with('[') ? " " + name + "= " : " ");
    for (const std::string_view name : kpl::command_names()) commands += std::string(name) + " ";
    const bool bash = argv[1] == std::string("bash");
    replace(text, "@OPTIONS@", bash ? options : manual_options());
    replace(text, "@VALUES@", bash_values());
    replace(text, "@COMMANDS@", commands);
    std::cout << text;
}
