// SPDX-License-Identifier: MIT
// Native code as text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "arch/arch.hpp"
#include "base/result.hpp"

namespace kpl {

struct NativeInsn {
    uint64_t addr = 0;
    std::span<const uint8_t> bytes;  // within the code that was given
    std::string text;                // "movq %rdi, -8(%rbp)": AT&T syntax on x86, as the kernel's own tools print
    std::optional<uint64_t> target;  // of a direct jump or call
};

// The library's file, which is loaded when first needed: who runs the program elsewhere takes it along.
const char* disassembler_library();

// All of `code`, which lies at `addr`. Bytes that are no instruction come out as ".byte …", one by one (x86)
// or by fours; nothing is left out.
Result<std::vector<NativeInsn>> disassemble(const Arch& arch, std::span<const uint8_t> code, uint64_t addr);

// The same with boundaries that are known: `lengths` cover `code`. What Capstone reads otherwise is ".byte …".
Result<std::vector<NativeInsn>> disassemble(const Arch& arch, std::span<const uint8_t> code, uint64_t addr,
                                            std::span<const uint8_t> lengths);

// One line for each instruction: address, bytes, text; `name_of` names the targets of jumps and calls
// (Kallsyms::name_of; an empty answer is left out).
std::string print_native(std::span<const NativeInsn> insns, const std::function<std::string(uint64_t)>& name_of = {});

}  // namespace kpl
