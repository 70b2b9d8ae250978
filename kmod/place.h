/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Places in the kernel's code: where probes may stand, what may be gone to.  Process context. */
#ifndef KPL_PLACE_H
#define KPL_PLACE_H

#include <linux/types.h>

int kpl_check_place(u64 addr, bool returns);

/* 0: an instruction begins there, and a kprobe might stand there. */
int kpl_check_target(u64 addr);

/* Whether code at `target` is there as long as that at `addr` is. */
bool kpl_stays_with(u64 target, u64 addr);

/*
 * Whether the function there may be left out.  `returns`: out, what it is
 * marked for, KPL_RETURNS_*.
 */
int kpl_check_override(u64 addr, u32 *returns);

#endif
