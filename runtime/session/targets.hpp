// SPDX-License-Identifier: MIT
// Targets: "symbol", "symbol+0x1a", "module:symbol", addresses and globs, resolved to places in the kernel's text.
#pragma once

#include <string>
#include <vector>

#include "luahost/declarations.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

struct Place {
    std::string function;  // the symbol's name
    std::string module;    // empty: vmlinux
    uint64_t address = 0;  // of the instruction; 0 when addresses are not known (--check)
    uint64_t function_address = 0;
    uint64_t offset = 0;   // address - function_address
};

// All places of a declaration. The error names the target that can't be resolved and what is near to it.
// Without `addresses`, names are taken as they are: for compiling where nothing will be attached.
Result<std::vector<Place>> resolve_targets(const ProbeDecl& probe, Kallsyms& symbols, bool addresses);

}  // namespace kpl
