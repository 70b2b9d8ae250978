// SPDX-License-Identifier: MIT
// Programs and libraries by the names that people have for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace kpl {

// Where names are looked for.
struct ProgramPaths {
    std::vector<std::string> programs;   // $PATH
    std::vector<std::string> libraries;  // $LD_LIBRARY_PATH, then what /etc/ld.so.conf names, then the usual ones
    uint16_t machine = 0;                // of the libraries (EM_X86_64…); 0: any

    static ProgramPaths usual(uint16_t machine);
};

// "bash", "libc", "libc.so.6", or a path: the file. A name without a version is that library's one version: where there
// are several, the error lists them; where there is none, what is near to it.
Result<std::string> find_program(const std::string& name, const ProgramPaths& paths);

// Names that find_program() takes and that begin so.
std::vector<std::string> program_names(const std::string& begin, const ProgramPaths& paths);

}  // namespace kpl
