// SPDX-License-Identifier: MIT
#include "arch/capstone.hpp"

#include "arch/disasm.hpp"
#include "base/loaded_library.hpp"

namespace kpl {

const char* disassembler_library() { return KPL_CAPSTONE_PATH; }

Result<const Capstone*> Capstone::load() {
    static Capstone capstone;
    if (capstone.cs_open) return &capstone;
    Capstone found;
#define X(name) {#name, reinterpret_cast<void**>(&found.name)},
    const WantedFunction functions[] = {KPL_CAPSTONE_FUNCTIONS(X)};
#undef X
    TRY(load_library(KPL_CAPSTONE_NAME, "libcapstone4", functions));
    capstone = found;
    return &capstone;
}

}  // namespace kpl
