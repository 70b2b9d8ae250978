// SPDX-License-Identifier: MIT
// Every kprobe of the system, from the kernel's own table: what debugfs does not tell, as whose it is, how
// many hits were missed and what bytes it stands on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/kallsyms.hpp"
#include "symbols/kernel_memory.hpp"
#include "symbols/types.hpp"

namespace kpl {

struct KernelKprobe {
    uint64_t addr = 0;
    bool is_return = false;
    uint64_t missed = 0;
    uint64_t handler = 0;  // pre or post; of a kretprobe the return handler, if it has one
};

// The mark that a probe has put into the text, and what was there.
struct KernelPatch {
    uint64_t addr = 0;
    std::vector<uint8_t> original;
};

struct KprobeTable {
    std::vector<KernelKprobe> probes;
    std::vector<KernelPatch> patches;
};

// The layout is the one that BTF describes; without it, an Error. A table that changes meanwhile is read as
// far as it makes sense.
Result<KprobeTable> read_kprobe_table(const KernelMemory& memory, Kallsyms& symbols, Types& types);

}  // namespace kpl
