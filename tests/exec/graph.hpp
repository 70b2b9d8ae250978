// SPDX-License-Identifier: MIT
// A program as steps that name each other, so that passes need not care where an instruction lies.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace kpl::exec {

constexpr size_t off_the_end = SIZE_MAX;  // where control leaves the program without an exit

struct Step {
    bpf_insn insn{};      // `off` of a jump says nothing
    bpf_insn second{};    // of a load of two slots
    size_t next = 0;      // the step after this one; of a plain jump, its target
    size_t target = 0;    // of a conditional jump, or of a call of the program's own
    uint32_t origin = 0;  // the instruction of the given program that it stands for
    bool atomic = false;  // an access that must be aligned where the program has it
};

// It starts at step 0. No way leads to some of the steps: the second slots, for a start.
using Graph = std::vector<Step>;

Result<Graph> graph_from(std::span<const bpf_insn> given);

constexpr uint8_t sign_extending = 0x80;  // mode of a load

bpf_insn make(uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm);
bool is_wide(const bpf_insn& insn);  // two slots
bool is_exit(const bpf_insn& insn);
bool is_call(const bpf_insn& insn);
bool is_local_call(const bpf_insn& insn);  // of a function of the program's own
bool is_plain_jump(const bpf_insn& insn);
bool is_condition(const bpf_insn& insn);  // any other jump
bool reads_dst(const bpf_insn& insn);
bool writes_dst(const bpf_insn& insn);
bool names(const bpf_insn& insn, uint8_t reg);
bool is_named(const Graph& graph, uint8_t reg);

struct Access {
    uint8_t base = 0;  // register
    int size = 0;      // bytes
};
std::optional<Access> access_of(const bpf_insn& insn);

}  // namespace kpl::exec
