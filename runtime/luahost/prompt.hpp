// SPDX-License-Identifier: MIT
// What the functions of a prompt (lua/prompt.lua) ask of the program that has opened it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "luahost/declarations.hpp"

namespace kpl {

class PromptApi {
  public:
    struct Row {
        size_t places = 0;      // where it is, or was; 0: nowhere yet
        bool has_first = true;  // there is a handler whose hits `status.first` counts
        ProbeStatus status;
    };

    virtual ~PromptApi() = default;
    virtual size_t declared() = 0;  // probes, with those that were forgotten
    virtual Result<Row> describe(uint32_t probe) = 0;
    // What a function that only a prompt has is to do: "pause", "asm" of "3".
    virtual Result<std::string> ask(const std::string& what, const std::string& of) = 0;
};

}  // namespace kpl
