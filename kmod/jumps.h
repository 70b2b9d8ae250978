/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the kernel does not see when it optimizes a kprobe.  Process context. */
#ifndef KPL_JUMPS_H
#define KPL_JUMPS_H

#include <linux/types.h>

void kpl_jumps_init(void);

/*
 * Whether the kernel may optimize a kprobe at `addr`: nothing jumps, now or
 * later, behind the first byte of what the jump would replace, nor does the
 * direction flag stand there.  What can't be known counts as a jump.
 */
bool kpl_may_optimize(u64 addr);

#endif
