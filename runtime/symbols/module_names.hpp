// SPDX-License-Identifier: MIT
// Symbols of the loaded modules, from the kernel's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

class BtfFile;

// Where things lie in the kernel's structures. The beginning of `struct module` (its state, its list, its name) is the
// same in all kernels that have a table of symbols by name.
struct ModuleLayout {
    uint32_t kallsyms;                             // in struct module: a pointer
    uint32_t symtab, num_symtab, strtab, typetab;  // in what it points to

    static std::optional<ModuleLayout> of(const BtfFile& vmlinux);
    // As the next start of this boot finds it.
    static std::optional<ModuleLayout> kept();
    void keep() const;
};

struct ModuleSymbol {
    uint64_t addr;
    char kind;  // as kallsyms prints it, but that a capital does not mean that it is exported
    std::string_view name, module;
};

// All symbols of the modules in the list at `head`, in the kernel's order; false: some can't be read, or do not read as
// they should. A module that comes or goes meanwhile may be there or not.
bool each_module_symbol(uint64_t head, const ModuleLayout& layout,
                        const std::function<bool(uint64_t addr, std::span<uint8_t> into)>& read,
                        const std::function<void(const ModuleSymbol&)>& visit);

}  // namespace kpl
