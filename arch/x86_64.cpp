// SPDX-License-Identifier: MIT
#include <capstone/capstone.h>
#include <elf.h>

#include "arch/rows.hpp"

namespace kpl {
namespace {

// In the order of struct pt_regs (arch/x86/include/asm/ptrace.h), aliases behind.
// At a function's entry, ftrace_caller (arch/x86/kernel/ftrace_64.S, macro save_mcount_regs) keeps the registers
// that a C function may clobber but r10 and r11, and bp, ip and sp. cs and orig_ax it sets to 0, flags and the
// others it leaves as they were in that memory.
constexpr RegisterRow regs[] = {
    {"r15", 0, false},  {"r14", 8, false},      {"r13", 16, false},    {"r12", 24, false},
    {"bp", 32, true},   {"bx", 40, false},      {"r11", 48, false},    {"r10", 56, false},
    {"r9", 64, true},   {"r8", 72, true},       {"ax", 80, true},      {"cx", 88, true},
    {"dx", 96, true},   {"si", 104, true},      {"di", 112, true},     {"orig_ax", 120, false},
    {"ip", 128, true},  {"cs", 136, false},     {"flags", 144, false}, {"sp", 152, true},
    {"ss", 160, false},

    {"rbp", 32, true},  {"rbx", 40, false},     {"rax", 80, true},     {"rcx", 88, true},
    {"rdx", 96, true},  {"rsi", 104, true},     {"rdi", 112, true},    {"orig_rax", 120, false},
    {"rip", 128, true}, {"eflags", 144, false}, {"rsp", 152, true},
};

constexpr uint16_t args[] = {112, 104, 96, 88, 72, 64};  // di si dx cx r8 r9

constexpr uint16_t syscall_args[] = {112, 104, 96, 56, 72, 64};  // di si dx r10 r8 r9
constexpr uint16_t ia32_args[] = {40, 88, 96, 104, 112, 32};     // bx cx dx si di bp
constexpr SyscallWay syscalls[] = {
    {"__x64_sys_", false, syscall_args},
    {"__ia32_sys_", true, ia32_args},
    {"__ia32_compat_sys_", true, ia32_args},
};

}  // namespace

constexpr Arch x86_64 = {
    .name = "x86_64",
    .regs = regs,
    .args = args,
    .ret = 80,
    .ip = 128,
    .sp = 152,
    .regs_size = 168,
    .stack_arg = 8,  // above the return address
    // All that the kernel loads again wherever a probe stands (kmod/compat.h): not r11, which ftrace does not.
    .writable = 0x7fbf,
    .elf_machine = EM_X86_64,
    .jump = 0xe9,
    .syscalls = syscalls,
    .compat_field = "status",
    .compat_bits = 2,  // TS_COMPAT
    .capstone_arch = CS_ARCH_X86,
    .capstone_mode = CS_MODE_64,
    .points = x86_points,
    .mark_operand = x86_mark_operand,
};

}  // namespace kpl
