// SPDX-License-Identifier: MIT
#include "repl/saved.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <span>

#include "ir/probe_kinds.hpp"

namespace kpl {
namespace {

// Before inputs whose probes are not all on: it declares those that are, in the order in which they were declared.
constexpr const char* picker = R"(
-- Stands in for what declares probes where not all of them were on: "on", "off" or "gone".
local function pick(states)
  local n = 0
  local none = setmetatable({}, { __index = function() return function() end end })
  local function picked(declarator)
    return function(...)
      n = n + 1
      if states[n] == "gone" then return none end
      if states[n] ~= "off" then return declarator(...) end
      local probe = declarator(...)
      probe:disable()
      return probe
    end
  end
  for name, declarator in pairs(declare) do _G[name] = picked(declarator) end
end
local function pick_all()
  for name, declarator in pairs(declare) do _G[name] = declarator end
end
)";

std::string declarators() {
    std::string list;
    for (const ProbeKindRow& kind : probe_kinds)
        list += fmt::format("{}{} = {}", list.empty() ? "" : ", ", kind.name, kind.name);
    return "local declare = { " + list + " }";
}

bool all_on(std::span<const Saved::State> states) {
    return std::all_of(states.begin(), states.end(), [](Saved::State s) { return s == Saved::State::On; });
}

std::string commented(const std::string& text) {
    std::string out = "-- the prompt's own: ";
    for (const char c : text) out += c == '\n' ? "\n-- " : std::string(1, c);
    return out + "\n";
}

}  // namespace

std::span<const std::string_view> Saved::names_of_prompt() {
    static constexpr std::string_view names[] = {"probes", "pause", "resume", "help", "save", "detach_all", "_"};
    return names;
}

size_t Saved::own() const { return static_cast<size_t>(std::ranges::count_if(inputs_, &Input::own)); }

std::string Saved::script(const std::vector<State>& states) const {
    constexpr const char* names[] = {"on", "off", "gone"};
    const std::regex has_local(R"(\blocal\b)");
    std::string body;
    bool picks = false;
    for (const Input& input : inputs_) {
        if (input.own) {
            body += commented(input.text);
            continue;
        }
        const std::string text =
            std::regex_search(input.text, has_local) ? "do\n" + input.text + "\nend\n" : input.text + "\n";
        const auto own = std::span(states).subspan(input.first_probe, input.probes);
        if (all_on(own)) {
            body += text;
            continue;
        }
        picks = true;
        std::string list;
        for (const State state : own)
            list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", names[static_cast<int>(state)]);
        body += fmt::format("pick {{ {} }}\n{}pick_all()\n", list, text);
    }
    return "-- Saved at the prompt of kprobe-lua.\n" + (picks ? declarators() + picker : "") + body;
}

}  // namespace kpl
