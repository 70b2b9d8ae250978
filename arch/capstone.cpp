// SPDX-License-Identifier: MIT
#include "arch/capstone.hpp"

#include "arch/disasm.hpp"
#include "base/loaded_library.hpp"

namespace kpl {

const char* disassembler_library() { return KPL_CAPSTONE_PATH; }

Result<const Capstone*> Capstone::load() {
#define X(name) {#name, reinterpret_cast<void**>(&of.name)},
    return load_once<Capstone>(KPL_CAPSTONE_NAME, "libcapstone4",
                               [](Capstone& of) { return std::vector<WantedFunction>{KPL_CAPSTONE_FUNCTIONS(X)}; });
#undef X
}

}  // namespace kpl
