/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Unregistering many kprobes or return probes with one grace period. */
#ifndef KPL_UNREGISTER_H
#define KPL_UNREGISTER_H

#include <linux/slab.h>

#include "probe.h"

/*
 * Defines name(prs, nr), which hands pointers to the `member` of each probe to
 * the kernel's batch function.  Tear-down must not fail for want of memory.
 */
#define KPL_UNREGISTER(name, type, member, unregister_batch)				\
static void name(struct kpl_probe **prs, u32 nr)					\
{											\
	type **all = kvmalloc_array(nr, sizeof(*all), GFP_KERNEL | __GFP_NOFAIL);	\
	u32 i, off = 0;									\
											\
	for (i = 0; i < nr; i++) {							\
		if (kpl_kprobe_off(prs[i]))						\
			all[off++] = &prs[i]->member;					\
		cond_resched();								\
	}										\
	unregister_batch(all, off);							\
	for (i = 0; i < nr; i++)							\
		prs[i]->added = false;							\
	kvfree(all);									\
}

#endif
