// SPDX-License-Identifier: MIT
// Capstone, loaded when something is first disassembled: its tables for all architectures take the dynamic linker
// longer than everything else that a script's start needs.
#pragma once

#include <capstone/capstone.h>

#include "base/result.hpp"

namespace kpl {

struct Capstone {
#define KPL_CAPSTONE_FUNCTIONS(X) \
    X(cs_open) X(cs_close) X(cs_option) X(cs_strerror) X(cs_malloc) X(cs_free) X(cs_disasm_iter) X(cs_insn_group)
#define X(name) decltype(&::name) name = nullptr;
    KPL_CAPSTONE_FUNCTIONS(X)
#undef X

    // The error says what to install.
    static Result<const Capstone*> load();
};

}  // namespace kpl
