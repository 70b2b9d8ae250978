// SPDX-License-Identifier: MIT
// What a mark in a program (USDT) passes, as the program's note describes it in the words of its assembler:
// "-4@%eax 8@$5 8@16(%rsp,%rax,8)" or "-4@w0 8@[sp, 16]".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kpl {

struct Arch;

// Its bytes lie in a register or in memory, or are a number.
struct MarkArg {
    enum class In : uint8_t { Nowhere, Number, Register, Memory };  // Nowhere: the description is not understood
    std::string text;                                               // the description
    In in = In::Nowhere;
    uint8_t size = 8;  // 1, 2, 4 or 8
    bool is_signed = true;
    int64_t number = 0;    // Number; Memory: what is added to the registers
    std::string symbol{};  // Memory: its address is added, as far as it lies from the mark
    uint16_t base = 0;     // Register, Memory: where struct pt_regs has it
    uint8_t shift = 0;     // Register: where the bytes begin in it: bits
    uint8_t scale = 0;     // Memory: how often `index` is added; 0: there is none
    uint16_t index = 0;
};

// In their order, none left out.
std::vector<MarkArg> parse_mark_args(const Arch& arch, std::string_view text);

// "int32_t", "uint64_t"; of what is not understood, the description.
std::string mark_arg_type(const MarkArg& arg);

// For the machines' own operands. Sums of numbers and at most one symbol: "16", "-0x8+4", "table+8".
bool parse_sum(std::string_view text, int64_t& number, std::string& symbol);

}  // namespace kpl
