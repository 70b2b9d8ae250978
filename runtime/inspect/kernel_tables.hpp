// SPDX-License-Identifier: MIT
// The tables by which the kernel finds instructions that are special: exception fix-ups, static keys, static
// calls, BUG and WARN. Those of vmlinux lie between symbols, a module's in sections that sysfs gives the
// addresses of.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arch/points.hpp"
#include "symbols/kallsyms.hpp"
#include "symbols/kernel_memory.hpp"

namespace kpl {

// Addresses of instructions, ascending.
struct SpecialInsns {
    std::vector<uint64_t> fixups, jump_labels, static_calls, bugs;
    std::vector<KeyJump> key_jumps;  // by their targets

    // Those in [begin, end); of key_jumps, those from or to there.
    SpecialInsns within(uint64_t begin, uint64_t end) const;
};

Result<SpecialInsns> read_vmlinux_tables(const KernelMemory& memory, Kallsyms& symbols);
// `text`: where the module's instructions are; what points elsewhere is no entry.
SpecialInsns read_module_tables(const KernelMemory& memory, const std::string& module, AddressRange text,
                                const std::string& sysfs = "/sys/module");
// Where the area ends that holds a module's text at `addr`: with the last of its pages.
// `used`: whether anything but zeros is in the page that begins there.
uint64_t module_text_end(const std::string& module, uint64_t addr, const std::function<bool(uint64_t page)>& used,
                         const std::string& sysfs = "/sys/module");

}  // namespace kpl
