// SPDX-License-Identifier: MIT
// RFC 9669 by its letter, for the instructions of the profile: handlers as they are loaded, without guards, in code
// that shares nothing with the module's. Of helpers, sdiv, smod, str_eq and str_starts are in it; maps are not.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace kpl::exec {

// r0. `data` is what the hit's `data` points to, `regs` what its `regs` does, zeros behind it. An error: an access
// outside of it and of the stack, an instruction that is not in the profile, or more than 100 million steps; it
// names the instruction by `origin`, if there is one.
Result<uint64_t> run_reference(std::span<const bpf_insn> insns, std::vector<uint8_t>& data,
                               std::span<const uint64_t> regs = {}, std::span<const uint32_t> origin = {});

}  // namespace kpl::exec
