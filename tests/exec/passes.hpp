// SPDX-License-Identifier: MIT
// What makes a handler of a program, one pass after another. What the profile lacks and cannot express is left as it
// is, for the verifier to refuse.
#pragma once

#include "foreign.hpp"
#include "graph.hpp"
#include "holds.hpp"

namespace kpl::exec {

// Registers that passes make use of, and that no program has: r11 within what stands for one instruction, r12 to r15 in
// a function of the program's own for those of r6 to r9 that it has to keep for its caller.
constexpr uint8_t made_register = 11, first_kept = 12, last_kept = 15;

// The program's own functions, in the place of each call. As given, if one uses a stack of its own, if their calls keep
// more than four registers at a time, or if it takes more steps than a program may have: recursion does.
Graph inlined(const Graph& graph);

// What RFC 9669 has and the profile lacks, by instructions of the profile: sign-extending loads and moves, signed
// division, the unconditional byte swap, atomic operations.
void lower(Graph& graph);

// r9 is the module's, and r11 to r15 do not exist. The place of each is taken by a register that the program leaves
// alone; where there is none, by 16 bytes at the lower end of the stack, which a register that holds a number comes to
// hold for each instruction that names it.
void place_registers(Graph& graph, const State& start);

// A step for each set of numbers with which it is reached, so that a number that is added to a pointer is known.
// Nothing: that takes more steps than a program may have.
std::optional<Graph> unfolded(const Graph& graph, const State& start);

// The instructions in an order in which a way forward leads to each of them, only plain jumps going back, and a label
// at each of their targets.
Handler laid_out(const Graph& graph, const Given& given, uint32_t offset);

}  // namespace kpl::exec
