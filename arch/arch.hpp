// SPDX-License-Identifier: MIT
// What differs between machines, one row each (arch/x86_64.cpp, arch/arm64.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kpl {

struct FunctionFacts;
struct MarkArg;
struct ProbePoint;

struct RegisterRow {
    std::string_view name;  // as struct pt_regs names it: "di", "ip", "flags"; its usual alias has a row of its own
    uint16_t offset;        // bytes in struct pt_regs
    bool at_entry;          // valid on the ftrace path without all registers
};

// A way into the kernel: the functions that take its calls are called so, with the caller's pt_regs as their only
// argument.
struct SyscallWay {
    std::string_view prefix;
    bool compat;                     // of programs with 32 bits
    std::span<const uint16_t> args;  // offsets in the caller's pt_regs
};

struct Arch {
    std::string_view name;  // as `uname -m` prints it
    std::span<const RegisterRow> regs;
    std::span<const uint16_t> args;  // pt_regs offsets of the integer argument registers, in order
    uint16_t ret, ip, sp;            // pt_regs offsets
    uint16_t regs_size;              // sizeof(struct pt_regs)
    uint16_t stack_arg;              // at a function's entry: offset from sp of the first stack argument
    uint64_t writable;               // bit i: handlers may change the 8 bytes at 8 * i of pt_regs; 0: none
    uint16_t elf_machine;            // EM_*: of its programs
    uint8_t jump;                    // first byte of what stands at an optimized probe; 0: none is optimized here
    std::span<const SyscallWay> syscalls;
    // Of current->thread_info, while a program with 32 bits calls: the field, and its bits.
    std::string_view compat_field;
    int64_t compat_bits;
    int capstone_arch, capstone_mode;
    std::vector<ProbePoint> (*points)(const FunctionFacts& facts);  // see analyse(), arch/points.hpp
    // Of what a mark passes, behind its size: see arch/mark_args.hpp. False: not understood.
    bool (*mark_operand)(std::string_view text, MarkArg& arg);

    std::optional<uint16_t> reg(std::string_view name) const;
};

const Arch& host_arch();
std::span<const Arch* const> all_archs();

}  // namespace kpl
