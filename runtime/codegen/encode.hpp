// SPDX-License-Identifier: MIT
// One function for each form of instruction.
#pragma once

#include <linux/bpf.h>

#include <cstdint>

#include "codegen/mir.hpp"

namespace kpl::encode {

inline bpf_insn make(uint8_t code, mir::Reg dst, mir::Reg src, int32_t off, int64_t imm) {
    bpf_insn insn{};
    insn.code = code;
    insn.dst_reg = dst & 0xf;
    insn.src_reg = src & 0xf;
    insn.off = static_cast<__s16>(off);
    insn.imm = static_cast<__s32>(imm);
    return insn;
}

inline uint8_t alu_class(bool narrow) { return narrow ? BPF_ALU : BPF_ALU64; }

inline bpf_insn alu(uint8_t op, bool narrow, mir::Reg dst, mir::Reg src) {
    return make(alu_class(narrow) | op | BPF_X, dst, src, 0, 0);
}
inline bpf_insn alu_imm(uint8_t op, bool narrow, mir::Reg dst, int64_t imm) {
    return make(alu_class(narrow) | op | BPF_K, dst, 0, 0, imm);
}
inline bpf_insn negate(mir::Reg dst) { return make(BPF_ALU64 | BPF_NEG, dst, 0, 0, 0); }

inline uint8_t width(uint8_t size) {
    switch (size) {
        case 1: return BPF_B;
        case 2: return BPF_H;
        case 4: return BPF_W;
        default: return BPF_DW;
    }
}
inline bpf_insn load(uint8_t size, mir::Reg dst, mir::Reg base, int32_t off) {
    return make(BPF_LDX | BPF_MEM | width(size), dst, base, off, 0);
}
inline bpf_insn store(uint8_t size, mir::Reg base, int32_t off, mir::Reg src) {
    return make(BPF_STX | BPF_MEM | width(size), base, src, off, 0);
}
inline bpf_insn store_imm(uint8_t size, mir::Reg base, int32_t off, int64_t imm) {
    return make(BPF_ST | BPF_MEM | width(size), base, 0, off, imm);
}

// Two slots. source: 0 a number, 1 a map.
inline bpf_insn wide(mir::Reg dst, uint8_t source, uint64_t value) {
    return make(BPF_LD | BPF_IMM | BPF_DW, dst, source, 0, static_cast<int64_t>(value));
}
inline bpf_insn wide_second(uint64_t value) { return make(0, 0, 0, 0, static_cast<int64_t>(value >> 32)); }

inline uint8_t jump_op(mir::Test test) {
    constexpr uint8_t ops[] = {BPF_JEQ, BPF_JNE, BPF_JSLT, BPF_JSLE, BPF_JSGT, BPF_JSGE,
                               BPF_JLT, BPF_JLE, BPF_JGT,  BPF_JGE,  BPF_JSET};
    return ops[static_cast<int>(test)];
}
inline uint8_t jump_class(bool narrow) { return narrow ? BPF_JMP32 : BPF_JMP; }

inline bpf_insn jump() { return make(BPF_JMP | BPF_JA, 0, 0, 0, 0); }
inline bpf_insn jump_if(mir::Test test, bool narrow, mir::Reg a, mir::Reg b, int32_t off) {
    return make(jump_class(narrow) | jump_op(test) | BPF_X, a, b, off, 0);
}
inline bpf_insn jump_if_imm(mir::Test test, bool narrow, mir::Reg a, int64_t imm, int32_t off) {
    return make(jump_class(narrow) | jump_op(test) | BPF_K, a, 0, off, imm);
}

inline bpf_insn call(int32_t helper) { return make(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }
inline bpf_insn exit() { return make(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

}  // namespace kpl::encode
