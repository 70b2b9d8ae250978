// SPDX-License-Identifier: MIT
#include <capstone/capstone.h>
#include <elf.h>

#include "arch/rows.hpp"

namespace kpl {
namespace {

// In the order of struct pt_regs (arch/arm64/include/asm/ptrace.h), aliases behind.
// At a function's entry, ftrace_caller (arch/arm64/kernel/entry-ftrace.S, struct ftrace_regs) keeps x0 to x8, the
// frame pointer, the link register, sp and pc.
constexpr RegisterRow regs[] = {
    {"x0", 0, true},     {"x1", 8, true},     {"x2", 16, true},    {"x3", 24, true},       {"x4", 32, true},
    {"x5", 40, true},    {"x6", 48, true},    {"x7", 56, true},    {"x8", 64, true},       {"x9", 72, false},
    {"x10", 80, false},  {"x11", 88, false},  {"x12", 96, false},  {"x13", 104, false},    {"x14", 112, false},
    {"x15", 120, false}, {"x16", 128, false}, {"x17", 136, false}, {"x18", 144, false},    {"x19", 152, false},
    {"x20", 160, false}, {"x21", 168, false}, {"x22", 176, false}, {"x23", 184, false},    {"x24", 192, false},
    {"x25", 200, false}, {"x26", 208, false}, {"x27", 216, false}, {"x28", 224, false},    {"x29", 232, true},
    {"x30", 240, true},  {"sp", 248, true},   {"pc", 256, true},   {"pstate", 264, false},

    {"fp", 232, true},   {"lr", 240, true},   {"ip", 256, true},
};

constexpr uint16_t args[] = {0, 8, 16, 24, 32, 40, 48, 56};  // x0 to x7

constexpr uint16_t syscall_args[] = {272, 8, 16, 24, 32, 40};  // orig_x0, for x0 has the result; x1 to x5
constexpr SyscallWay syscalls[] = {
    {"__arm64_sys_", false, syscall_args},
    {"__arm64_compat_sys_", true, syscall_args},
};

}  // namespace

constexpr Arch arm64 = {
    .name = "aarch64",
    .regs = regs,
    .args = args,
    .ret = 0,
    .ip = 256,
    .sp = 248,
    .regs_size = 336,
    .stack_arg = 0,  // the return address is in the link register
    .writable = 0,   // not tried
    .elf_machine = EM_AARCH64,
    .jump = 0,
    .syscalls = syscalls,
    .compat_field = "flags",
    .compat_bits = 1 << 22,  // TIF_32BIT
    .capstone_arch = CS_ARCH_ARM64,
    .capstone_mode = CS_MODE_LITTLE_ENDIAN,
    .points = arm64_points,
    .mark_operand = arm64_mark_operand,
};

}  // namespace kpl
