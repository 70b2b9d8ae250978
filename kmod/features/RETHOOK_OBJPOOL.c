// SPDX-License-Identifier: GPL-2.0 OR MIT
/* From 6.7 on, instances of kretprobes come from an object pool. */
#include <linux/objpool.h>
#include <linux/rethook.h>

size_t kpl_slot_size(struct rethook *rh);
size_t kpl_slot_size(struct rethook *rh)
{
	return rh->pool.nr_objs * sizeof(struct objpool_slot);
}
