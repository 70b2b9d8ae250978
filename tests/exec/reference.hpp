// SPDX-License-Identifier: MIT
// RFC 9669 by its letter, in code that shares nothing with the module's, nor with what makes handlers of programs. Of
// helpers, sdiv, smod, str_eq and str_starts are in it; maps are not.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace kpl::exec {

// Calls of a program's own functions, one in another.
constexpr size_t most_calls = 8;

// A handler, as it is loaded, without guards; r0. `data` is what the hit's `data` points to, `regs` what its `regs`
// does, zeros behind it. An error: an access outside of it and of the stack, an instruction that RFC 9669 does not
// have, or more than 4 million steps, four times what any handler may take; it names the instruction by `origin`, if
// there is one.
Result<uint64_t> run_reference(std::span<const bpf_insn> insns, std::vector<uint8_t>& data,
                               std::span<const uint64_t> regs = {}, std::span<const uint32_t> origin = {});

// A program as it was given: its memory is in r1 and the length in r2, or behind a context in r1. Its own functions
// have a stack each.
Result<uint64_t> run_given(std::span<const bpf_insn> insns, std::vector<uint8_t>& memory,
                           std::optional<std::span<const uint64_t>> context);

}  // namespace kpl::exec
