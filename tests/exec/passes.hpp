// SPDX-License-Identifier: MIT
// What makes a handler of a program, one pass after another. What the profile lacks and cannot express is left as it
// is, for the verifier to refuse.
#pragma once

#include <array>
#include <span>

#include "foreign.hpp"
#include "graph.hpp"
#include "holds.hpp"
#include "reference.hpp"

namespace kpl::exec {

// Registers that passes make use of, and that no program has: r11 within what stands for one instruction, r12 to r15 in
// a function of the program's own for those of r6 to r9 that it has to keep for its caller, or one within what stands
// for an instruction.
constexpr uint8_t made_register = 11, first_kept = 12, last_kept = 15;

// By how much r10 of a function is below the program's: element 2n is of one within n calls, the one before it of what
// is saved at the call. Each is the upper end of what lies there.
using FrameTops = std::array<int, 2 * most_calls + 1>;

struct Inlined {
    Graph graph;
    bool has_frames = false;  // a call saves something, or a function that is called has a stack
};

bool has_local_calls(const Graph& graph);

// The program's own functions, in the place of each call. `names`: what their r6 to r9 may be called; what is already
// in use by one that waits for the return is saved on the stack, numbers before pointers, which cannot be. An error:
// calls lie too deep within each other, as those of recursion do, or take more steps than a program may have.
Result<Inlined> inlined(const Graph& graph, std::span<const uint8_t> names, const FrameTops& tops);

// The same, lowered, all stacks next to each other in that of the handler. Also an error: they take more than that.
Result<Graph> without_calls(const Graph& graph, const State& start, std::span<const uint8_t> names);

// What RFC 9669 has and the profile lacks, by instructions of the profile: sign-extending loads and moves, signed
// division, the unconditional byte swap, atomic operations. A constant is added, not subtracted, as to a pointer.
void lower(Graph& graph);

// Accesses that are not aligned, in pieces that are; not those of atomic operations.
void split_unaligned(Graph& graph, const State& start);

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
