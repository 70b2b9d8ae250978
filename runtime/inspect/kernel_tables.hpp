// SPDX-License-Identifier: MIT
// The tables by which the kernel finds instructions that are special: exception fix-ups, static keys, static calls,
// BUG and WARN. Those of vmlinux lie between symbols, a module's in sections that sysfs gives the addresses of.
#pragma once

#include <string>
#include <vector>

#include "arch/points.hpp"
#include "symbols/kernel_memory.hpp"
#include "symbols/kallsyms.hpp"

namespace kpl {

// Addresses of instructions, ascending.
struct SpecialInsns {
    std::vector<uint64_t> fixups, jump_labels, static_calls, bugs;

    // Those in [begin, end).
    SpecialInsns within(uint64_t begin, uint64_t end) const;
};

Result<SpecialInsns> read_vmlinux_tables(const KernelMemory& memory, Kallsyms& symbols);
// `text`: where the module's instructions are; what points elsewhere is no entry.
SpecialInsns read_module_tables(const KernelMemory& memory, const std::string& module, AddressRange text,
                                const std::string& sysfs = "/sys/module");
// From a module's sections in sysfs: the one that begins at or before `addr`, to the begin of the next.
AddressRange module_section(const std::string& module, uint64_t addr, const std::string& sysfs = "/sys/module");

}  // namespace kpl
