// SPDX-License-Identifier: MIT
// What a program needs beside itself to run in another root.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct ProgramNeeds {
    std::string interpreter;  // the ELF loader or the script's interpreter; empty when there is none
    bool is_elf = false;
    std::vector<std::string> libraries;  // absolute paths, the loader included, as the loader would open them
};

// Reads the head of `path`: an ELF program or library, a script with "#!", or neither (then all is empty). The
// machine's own loader is asked which libraries it maps; the program itself is not run, and neither is another loader
// that it names: that comes without libraries.
Result<ProgramNeeds> program_needs(const std::string& path);

// An ELF program without what follows its loaded segments, if that is large: debug information, and symbols with it.
// Else, and anything else, unchanged: names of functions are few bytes, and probes want them.
std::string loaded_part(std::string elf);

}  // namespace kpl
