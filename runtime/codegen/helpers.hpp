// SPDX-License-Identifier: MIT
// What the compiler asks of the table of helpers.
#pragma once

#include "core/core.h"

namespace kpl {

// How many of r1 to r5 it takes.
inline uint32_t helper_args(kpl_helper helper) {
    uint32_t count = 0;
    for (u8 kind : kpl_helper_descs[helper].arg) count += kind != KPL_A_UNUSED;
    return count;
}

// Does it write to the memory that argument `index` (from 0) points to?
inline bool helper_writes(kpl_helper helper, size_t index) {
    u8 kind = kpl_helper_descs[helper].arg[index];
    return kind == KPL_A_WMEM || kind == KPL_A_WSTR || kind == KPL_A_LIST || kind == KPL_A_OUT;
}

inline bool helper_has_result(kpl_helper helper) { return kpl_helper_descs[helper].result == KPL_R_NUM; }

// How many low bits of its result may be set.
inline uint32_t helper_bits(kpl_helper helper) { return kpl_helper_descs[helper].bits; }

}  // namespace kpl
