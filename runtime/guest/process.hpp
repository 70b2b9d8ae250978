// SPDX-License-Identifier: MIT
// Running a host program for what it prints.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct ProgramOutput {
    std::string text;  // what it wrote to stdout; its stderr is dropped
    bool succeeded = false;
};

// Runs `argv` (argv[0] is a path) to its end, with stdin from /dev/null.
Result<ProgramOutput> program_output(const std::vector<std::string>& argv);

// "what: <the text of errno value `error`>"
Error system_error(const std::string& what, int error);

}  // namespace kpl
