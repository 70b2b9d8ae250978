// SPDX-License-Identifier: MIT
#include "repl/libedit.hpp"

#include "base/loaded_library.hpp"
#include "repl/editor.hpp"

namespace kpl {

const char* line_editing_library() { return KPL_LIBEDIT_PATH; }

Result<const Libedit*> Libedit::load() {
#define X(name) {#name, reinterpret_cast<void**>(&of.name)},
    return load_once<Libedit>(KPL_LIBEDIT_NAME, "libedit2",
                              [](Libedit& of) { return std::vector<WantedFunction>{KPL_LIBEDIT_FUNCTIONS(X)}; });
#undef X
}

}  // namespace kpl
