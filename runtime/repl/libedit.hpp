// SPDX-License-Identifier: MIT
// libedit, loaded when a prompt is opened: with the three libraries that it brings it would cost each script's start a
// million instructions.
#pragma once

#include <histedit.h>

#include "base/result.hpp"

namespace kpl {

struct Libedit {
#define KPL_LIBEDIT_FUNCTIONS(X) \
    X(el_init)                   \
    X(el_end)                    \
    X(el_set)                    \
    X(el_get)                    \
    X(el_gets)                   \
    X(el_wline)                  \
    X(el_winsertstr)             \
    X(el_deletestr)              \
    X(el_resize)                 \
    X(history)                   \
    X(history_init)              \
    X(history_end)
#define X(name) decltype(&::name) name = nullptr;
    KPL_LIBEDIT_FUNCTIONS(X)
#undef X

    // The error says what to install.
    static Result<const Libedit*> load();
};

}  // namespace kpl
