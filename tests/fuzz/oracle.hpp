// SPDX-License-Identifier: MIT
// What the verifier accepts runs, step by step, without a memory access outside of its objects, a division by zero, a
// result that depends on memory or registers that it has not written or on the value of a pointer, within cost +
// fuel, and does what RFC 9669 says.
#pragma once

#include <vector>

#include "rows/rows.hpp"

namespace kpl::fuzz {

struct Judgement {
    uint32_t reject = KPL_REJECT_NONE;  // KPL_REJECT_NONE: it was accepted, and ran
    bool loops = false;
    bool compared = false;  // with the reference, too
};

// Prints the program of a violation and aborts. `ring_room`: records until the ring is full.
Judgement judge(const rows::Row& row, size_t ring_room);

// The programs of the tests' rows that the verifier accepts.
std::vector<rows::Row> accepted_rows();

}  // namespace kpl::fuzz
