// SPDX-License-Identifier: MIT
// What was typed so far, as a script that leads to what is armed now.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

// In the environment, the name of a file: each saved script is appended to it, too, as a line of JSON. Who
// runs a prompt in a VM takes the scripts from there.
inline constexpr const char* saved_scripts_variable = "KPROBE_LUA_SAVED_SCRIPTS";

class Saved {
  public:
    enum class State { On, Off, Gone };  // of a probe, now
    struct Input {
        std::string text;
        size_t first_probe = 0, probes = 0;  // that it declared
        bool own = false;                    // it reads a name that only the prompt has: a script can't
    };
    static std::span<const std::string_view> names_of_prompt();

    void add(Input input) { inputs_.push_back(std::move(input)); }
    size_t size() const { return inputs_.size(); }
    size_t own() const;  // of them, which become comments
    // `states`: of every probe that was declared.
    std::string script(const std::vector<State>& states) const;

  private:
    std::vector<Input> inputs_;
};

}  // namespace kpl
