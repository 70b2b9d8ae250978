// SPDX-License-Identifier: MIT
// History: inputs of this prompt and of others, in one file that all append to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace kpl {

class History {
  public:
    // $XDG_STATE_HOME/kprobe-lua/history, or below ~/.local/state; empty without a home.
    static std::string usual_path();
    // The inputs in a file's text, the oldest first.
    static std::vector<std::string> inputs_of(std::string_view text);
    // Nothing is read or written yet. An empty path: nothing is kept.
    explicit History(std::string path) : path_(std::move(path)) {}

    // What was kept, the oldest first. Shortens a file that has grown long.
    Result<std::vector<std::string>> load() const;
    // Very long inputs are not kept.
    Result<void> add(const std::string& input) const;

  private:
    std::string path_;
};

}  // namespace kpl
