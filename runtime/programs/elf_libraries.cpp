// SPDX-License-Identifier: MIT
#include "programs/elf_libraries.hpp"

#include "base/loaded_library.hpp"
#include "programs/program.hpp"

namespace kpl {

std::vector<const char*> elf_libraries() { return {KPL_ELF_PATH, KPL_DW_PATH}; }

Result<const LibElf*> LibElf::load() {
    static LibElf library;
    if (library.elf_begin) return &library;
    LibElf found;
#define X(name) {#name, reinterpret_cast<void**>(&found.name)},
    const WantedFunction functions[] = {KPL_ELF_FUNCTIONS(X)};
#undef X
    TRY(load_library(KPL_ELF_NAME, "libelf1", functions));
    found.elf_version(EV_CURRENT);
    library = found;
    return &library;
}

Result<const LibDw*> LibDw::load() {
    static LibDw library;
    if (library.dwarf_getcfi_elf) return &library;
    LibDw found;
#define X(name) {#name, reinterpret_cast<void**>(&found.name)},
    const WantedFunction functions[] = {KPL_DW_FUNCTIONS(X)};
#undef X
    TRY(load_library(KPL_DW_NAME, "libdw1", functions));
    library = found;
    return &library;
}

}  // namespace kpl
