// SPDX-License-Identifier: MIT
// The words of handler assembly, from the tables that the verifier and the interpreter use.
#pragma once

#include <linux/bpf.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "uapi/kprobe_lua.h"

namespace kpl::assembly {

struct Word {
    std::string_view text;
    uint8_t code;
};

// Operators of `dst OP= src`; the move is "".
inline constexpr Word alu_ops[] = {
#define ALU(op, symbol, value) {symbol, BPF_##op},
#include "core/insns.def"
};

inline constexpr Word conditions[] = {
#define JCC(op, symbol, condition) {symbol, BPF_##op},
#include "core/insns.def"
};

inline constexpr Word sizes[] = {
#define MEM(size, type) {#type, BPF_##size},
#include "core/insns.def"
};

// In the order of enum kpl_reg_type.
inline constexpr std::array<std::string_view, KPL_T_END_> types = {
    "none", "num", "hit", "regs", "scratch", "data", "rec", "rec_or_null", "stack", "map",
};

template <size_t N>
constexpr const Word* find(const Word (&words)[N], std::string_view text) {
    for (const Word& word : words)
        if (word.text == text) return &word;
    return nullptr;
}

template <size_t N>
constexpr const Word* find(const Word (&words)[N], uint8_t code) {
    for (const Word& word : words)
        if (word.code == code) return &word;
    return nullptr;
}

}  // namespace kpl::assembly
