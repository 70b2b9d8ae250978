// SPDX-License-Identifier: MIT
// eBPF programs of others, made into handlers: they get memory and its length in r1 and r2, and know no labels.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl::exec {

struct Handler {
    std::vector<bpf_insn> insns;
    std::vector<kpl_label> labels;
    std::vector<uint32_t> origin;  // of each instruction: the one of the given program that it stands for
    uint32_t data_size = 0;        // the memory, rounded up
};

// Pairs of hex digits; space between them is allowed.
Result<std::vector<uint8_t>> bytes_from_hex(std::string_view text);

// What the program does stays the same, but: where it uses r9, which is the module's, it uses a register that it leaves
// alone; a conditional jump back becomes a jump over a plain one; and each target of a jump back gets a label, with
// what every way there agrees on. What the profile lacks is left as it is, for the verifier to refuse.
Result<Handler> handler_from(std::span<const uint8_t> program, size_t memory);

}  // namespace kpl::exec
