/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Unregistering many probes with one grace period. */
#ifndef KPL_UNREGISTER_H
#define KPL_UNREGISTER_H

#include <linux/slab.h>

/*
 * Defines name(prs, nr), which hands pointers to the `member` of each probe to
 * the kernel's batch function.  Tear-down must not fail for want of memory.
 */
#define KPL_UNREGISTER(name, type, member, unregister_batch)				\
static void name(struct kpl_probe **prs, u32 nr)					\
{											\
	type **all = kvmalloc_array(nr, sizeof(*all), GFP_KERNEL | __GFP_NOFAIL);	\
	u32 i;										\
											\
	for (i = 0; i < nr; i++)							\
		all[i] = &prs[i]->member;						\
	unregister_batch(all, nr);							\
	for (i = 0; i < nr; i++)							\
		prs[i]->added = false;							\
	kvfree(all);									\
}

#endif
