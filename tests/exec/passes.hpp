// SPDX-License-Identifier: MIT
// What makes a handler of a program, one pass after another. What the profile lacks is left as it is, for the verifier
// to refuse.
#pragma once

#include "foreign.hpp"
#include "graph.hpp"
#include "holds.hpp"

namespace kpl::exec {

// r9 is the module's. Its place is taken by a register that the program leaves alone; where there is none, by the 8
// bytes at r10 - 512, which a register that holds a number comes to hold for each instruction that names r9.
void free_the_fuel_register(Graph& graph, const State& start);

// A step for each set of numbers with which it is reached, so that a number that is added to a pointer is known. As
// given, if that takes more steps than a program may have.
Graph unfolded(const Graph& graph, const State& start);

// The instructions in an order in which a way forward leads to each of them, only plain jumps going back, and a label
// at each of their targets.
Handler laid_out(const Graph& graph, size_t memory, uint32_t offset);

}  // namespace kpl::exec
