// SPDX-License-Identifier: MIT
// What functions of the prompt ask for.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/json_line.hpp"
#include "base/lua_string.hpp"
#include "repl/repl.hpp"

namespace kpl {
namespace {

Result<uint32_t> probe_number(const std::string& text) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || *end) return Error{Errc::script, "no probe has the number " + text};
    return number;
}

// A line for each handler.
std::string cost_text(const std::vector<const ArmedProgram*>& programs) {
    std::string text;
    for (const ArmedProgram* one : programs)
        text += fmt::format("{}{}: up to {} a hit, {} instructions", text.empty() ? "" : "\n", one->program.name,
                            one->loaded.cost, one->program.insns.size());
    return text;
}

std::string asm_text(const std::vector<const ArmedProgram*>& programs) {
    std::string text;
    for (const ArmedProgram* one : programs) text += print(one->program);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace

Result<PromptApi::Row> Repl::describe(uint32_t number) {
    if (number >= declared()) return Error{Errc::script, fmt::format("no probe has the number {}", number + 1)};
    const ProbeDecl& probe = session_->declared().probes()[number];
    Row row;
    row.has_first = probe.handlers[0] != nullptr;
    row.places = session_->armed() ? session_->armed()->places_of(number) : 0;
    row.status = TRY(session_->status(number));
    return row;
}

Result<std::string> Repl::ask(const std::string& what, const std::string& of) {
    if (what == "pause" || what == "resume") {
        if (what == "pause")
            screen_.pause();
        else
            screen_.resume();
        return std::string();
    }
    if (what == "cost" || what == "asm") {
        const uint32_t number = TRY(probe_number(of));
        if (!session_->armed()) return Error{Errc::script, "nothing is armed yet"};
        const auto programs = session_->armed()->programs_of(number);
        return what == "cost" ? cost_text(programs) : asm_text(programs);
    }
    if (what == "help") return help_->about(of, editor_ ? editor_->columns() - 1 : 80);
    if (what == "save") return save(of);
    return Error{Errc::script, "the prompt can't " + what};
}

Result<std::string> Repl::save(const std::string& path) const {
    std::vector<Saved::State> states;
    for (uint32_t i = 0; i < session_->declared().probes().size(); i++) {
        const std::string state = TRY(session_->status(i)).state;
        states.push_back(state == "detached" || state == "gone" ? Saved::State::Gone
                         : state == "disabled"                  ? Saved::State::Off
                                                                : Saved::State::On);
    }
    std::ofstream file(path, std::ios::trunc);
    if (options_.code)
        file << *options_.code << "\n";
    else if (!options_.script.empty())
        file << "dofile " << lua_string(std::filesystem::absolute(options_.script).string()) << "\n";
    file << saved_.script(states);
    file.close();
    if (!file) return Error{Errc::system, path + ": " + std::strerror(errno)};
    if (const char* outside = std::getenv(saved_scripts_variable)) {
        std::ifstream written(path);
        const std::string text(std::istreambuf_iterator<char>(written), {});
        std::ofstream(outside, std::ios::app)
            << json_line("saved", {{"path", std::filesystem::absolute(path).string()}, {"text", text}});
    }
    const std::string own =
        saved_.own() ? fmt::format(", {} of them as comments: they use the prompt's own names", saved_.own()) : "";
    return fmt::format("{} inputs are in {}{}", saved_.size(), path, own);
}

}  // namespace kpl
