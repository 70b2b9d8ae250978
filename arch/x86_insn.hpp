// SPDX-License-Identifier: MIT
// x86-64 instructions as the kernel's own decoder (arch/x86/lib/insn.c) cuts them: where each one ends, and
// the parts that kprobes' rules look at.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace kpl {

struct X86Insn {
    uint8_t length = 0;
    uint8_t opcode[3] = {};  // of a VEX or EVEX instruction only the byte behind its prefix, as in the kernel
    uint8_t opcode_bytes = 0;
    uint8_t modrm = 0;
    bool has_modrm = false;
    bool rip_relative = false;
    bool address_prefix = false;  // 67
    bool cs_prefix = false;       // 2e
    int32_t immediate = 0;        // of a relative jump or call; else not kept

    unsigned reg() const { return modrm >> 3 & 7; }
    unsigned mod() const { return modrm >> 6; }
    bool is(uint8_t one_byte) const { return opcode_bytes == 1 && opcode[0] == one_byte; }
};

// The instruction at the start of `code`; nullopt: there is none, or it does not end within `code`.
std::optional<X86Insn> decode_x86(std::span<const uint8_t> code);

}  // namespace kpl
