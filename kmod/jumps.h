/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Jumps that the kernel does not see when it optimizes a kprobe.  Process context. */
#ifndef KPL_JUMPS_H
#define KPL_JUMPS_H

#include <linux/types.h>

void kpl_jumps_init(void);

/*
 * Whether something may jump, now or later, behind the first byte of what an
 * optimized kprobe at `addr` would replace: it must not be optimized.  What
 * can't be known counts as a jump.
 */
bool kpl_is_jumped_into(u64 addr);

#endif
