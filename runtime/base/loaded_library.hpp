// SPDX-License-Identifier: MIT
// Libraries that are loaded when something first needs them: the dynamic linker would take longer for them than
// everything else at a script's start.
#pragma once

#include <dlfcn.h>

#include <span>
#include <string>

#include "base/result.hpp"

namespace kpl {

struct WantedFunction {
    const char* name;
    void** found;
};

// Never unloaded. The error says which package has it.
inline Result<void> load_library(const char* file, const char* package, std::span<const WantedFunction> functions) {
    void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return Error{Errc::system, std::string(::dlerror()) + " (apt-get install " + package + ")"};
    for (const WantedFunction& function : functions) {
        *function.found = ::dlsym(library, function.name);
        if (!*function.found) return Error{Errc::system, std::string(file) + " is of a version that is not known here"};
    }
    return {};
}

}  // namespace kpl
