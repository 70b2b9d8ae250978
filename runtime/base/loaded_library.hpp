// SPDX-License-Identifier: MIT
// Libraries that are loaded when something first needs them: the dynamic linker would take longer for them than
// everything else at a script's start.
#pragma once

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace kpl {

struct WantedFunction {
    const char* name;
    void** found;
};

// Never unloaded. The error says which package has it.
inline Result<void> load_library(const char* file, const char* package, const std::vector<WantedFunction>& functions) {
    void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) return Error{Errc::system, std::string(::dlerror()) + " (apt-get install " + package + ")"};
    for (const WantedFunction& function : functions) {
        *function.found = ::dlsym(library, function.name);
        if (!*function.found) return Error{Errc::system, std::string(file) + " is of a version that is not known here"};
    }
    return {};
}

// A table of functions, the same for all threads; `functions` names where each of them goes. What failed is tried
// again.
template <class Table>
Result<const Table*> load_once(const char* file, const char* package,
                               std::vector<WantedFunction> (*functions)(Table&)) {
    static std::mutex lock;
    static Table table;
    static bool loaded = false;
    const std::lock_guard held(lock);
    if (!loaded) TRY(load_library(file, package, functions(table)));
    loaded = true;
    return &table;
}

}  // namespace kpl
