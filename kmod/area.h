/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Memory that handlers write and user space maps. */
#ifndef KPL_AREA_H
#define KPL_AREA_H

#include <linux/gfp.h>
#include <linux/types.h>

struct vm_area_struct;
struct page;

/*
 * For all that sessions hold: charged to the caller's cgroup, and refused
 * where the kernel would have to kill somebody for it.  Per-CPU allocations
 * know fewer flags.
 */
#define KPL_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
#define KPL_GFP_PERCPU	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

struct kpl_area {
	void *addr;
	struct page **pages;
	u32 nr_pages;
	u64 size;	/* bytes mapped at addr, repeated pages counted twice */
};

/*
 * What to allocate: `pages` zeroed pages; page i near CPU `cpu` + i / cpu_pages.
 * The pages from `twice_from` on are mapped a second time after the last.
 */
struct kpl_area_plan {
	u32 pages;
	u32 twice_from;	/* >= pages: nothing is repeated */
	u32 cpu;
	u32 cpu_pages;
};

int kpl_area_alloc(struct kpl_area *area, const struct kpl_area_plan *plan);
void kpl_area_free(struct kpl_area *area);
u64 kpl_area_memory(const struct kpl_area_plan *plan);

/* Maps the area's first bytes into `vma`, as many as the vma has; read-only unless `writable`. */
int kpl_area_mmap(const struct kpl_area *area, struct vm_area_struct *vma, bool writable);

#endif
