// SPDX-License-Identifier: MIT
// What registers and the stack are known to hold before each step.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <vector>

#include "graph.hpp"
#include "uapi/kprobe_lua.h"

namespace kpl::exec {

struct Value {
    uint8_t type = KPL_T_NONE;
    bool known = false;  // a pointer's offset always is
    int64_t number = 0;  // if it is known
    auto operator<=>(const Value&) const = default;
};

struct State {
    std::array<Value, 16> regs;  // as many as an instruction can name
    uint64_t stack = 0;          // as in struct kpl_label
    auto operator<=>(const State&) const = default;
};

// What a program is given: bytes of memory, and struct pt_regs or not.
struct Given {
    size_t memory = 0;
    bool context = false;
    bool as_is = false;  // what the module gives a handler
};

// What a program starts with: its memory begins at `offset` of the handler's data.
State start_state(const Given& given, uint32_t offset);

// What holds where two ways meet.
State joined(const State& a, const State& b);

State after(State state, const bpf_insn& insn);

// Whether a conditional jump is taken, if the numbers that it compares are known.
std::optional<bool> is_taken(const State& state, const bpf_insn& insn);

// What all ways to a step agree on, loops included; none: no way leads there.
std::vector<std::optional<State>> states_of(const Graph& graph, const State& start);

}  // namespace kpl::exec
