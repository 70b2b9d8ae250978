// SPDX-License-Identifier: MIT
#include "programs/elf_libraries.hpp"

#include "base/loaded_library.hpp"
#include "programs/program.hpp"

namespace kpl {

std::vector<const char*> elf_libraries() { return {KPL_ELF_PATH, KPL_DW_PATH}; }

Result<const LibElf*> LibElf::load() {
#define X(name) {#name, reinterpret_cast<void**>(&of.name)},
    auto library = load_once<LibElf>(KPL_ELF_NAME, "libelf1",
                                     [](LibElf& of) { return std::vector<WantedFunction>{KPL_ELF_FUNCTIONS(X)}; });
#undef X
    if (library) (*library)->elf_version(EV_CURRENT);  // as often as one likes
    return library;
}

Result<const LibDw*> LibDw::load() {
#define X(name) {#name, reinterpret_cast<void**>(&of.name)},
    return load_once<LibDw>(KPL_DW_NAME, "libdw1",
                            [](LibDw& of) { return std::vector<WantedFunction>{KPL_DW_FUNCTIONS(X)}; });
#undef X
}

}  // namespace kpl
