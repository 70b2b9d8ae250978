// SPDX-License-Identifier: MIT
#include "repl/libedit.hpp"

#include "base/loaded_library.hpp"
#include "repl/editor.hpp"

namespace kpl {

const char* line_editing_library() { return KPL_LIBEDIT_PATH; }

Result<const Libedit*> Libedit::load() {
    static Libedit libedit;
    if (libedit.el_init) return &libedit;
    Libedit found;
#define X(name) {#name, reinterpret_cast<void**>(&found.name)},
    const WantedFunction functions[] = {KPL_LIBEDIT_FUNCTIONS(X)};
#undef X
    TRY(load_library(KPL_LIBEDIT_NAME, "libedit2", functions));
    libedit = found;
    return &libedit;
}

}  // namespace kpl
