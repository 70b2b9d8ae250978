// SPDX-License-Identifier: MIT
// A handler as it is loaded, with where its data has the memory of the program that it was made of.
#pragma once

#include <linux/bpf.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "uapi/kprobe_lua.h"

namespace kpl::exec {

struct Handler {
    std::vector<bpf_insn> insns;
    std::vector<kpl_label> labels;
    std::vector<uint32_t> origin;  // of each instruction: the one of the given program that it stands for
    uint32_t data_size = 0;        // a multiple of 8
    uint32_t offset = 0;           // of the memory in it
    uint32_t memory = 0;           // its size
    uint32_t first_constant = 0;   // the move in front of the program that needs but one slot
    std::vector<uint64_t> regs;    // struct pt_regs, or the beginning of it
    std::vector<bpf_insn> given;   // the program that it was made of; none: it was loaded as it is
    bool context = false;          // which gets `regs` before its memory

    std::vector<uint8_t> data_of(std::span<const uint8_t> memory) const {
        std::vector<uint8_t> data(data_size);
        std::copy(memory.begin(), memory.end(), data.begin() + offset);
        return data;
    }
    void take_back(std::span<const uint8_t> data, std::span<uint8_t> memory) const {
        std::copy_n(data.begin() + offset, memory.size(), memory.begin());
    }
};

}  // namespace kpl::exec
