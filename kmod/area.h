/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Memory of each CPU that handlers write and user space maps. */
#ifndef KPL_AREA_H
#define KPL_AREA_H

#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/types.h>

#include "session.h"

struct address_space;
struct vm_area_struct;
struct page;

/* One CPU's. */
struct kpl_area {
	void *addr;		/* NULL: there is none */
	struct page **pages;	/* as they are mapped: repeated ones twice */
	u32 nr_pages;		/* without the repeated ones */
};

/*
 * What each is: `pages` zeroed pages near its CPU.  Those from `twice_from` on
 * are mapped a second time after the last.
 */
struct kpl_area_plan {
	u32 pages;
	u32 twice_from;	/* >= pages: nothing is repeated */
};

/*
 * The areas of all CPUs, in a row where user space maps them.  One that is
 * missing reads as zeros; where user space may write, it can't be touched.
 */
struct kpl_areas {
	refcount_t users;		/* whoever made them, and each mapping */
	struct kpl_session *session;	/* a mapping keeps it */
	u64 charged;			/* bytes, to it, until the last user is gone */
	struct kpl_area_plan plan;
	u64 stride;			/* pages from one to the next */
	bool writable;
	struct mutex lock;		/* of what follows, and of what mappings show */
	struct address_space *mapping;	/* NULL: nobody has mapped them */
	u64 first;			/* page of it where they begin */
	struct kpl_area of[];		/* nr_cpu_ids */
};

/*
 * For a CPU that comes, with the hotplug lock held: what is not there at once is
 * not waited for, and no cgroup is charged, neither the session's nor that of
 * whoever switches the CPU on.
 */
static inline gfp_t kpl_area_gfp(u32 cpu)
{
	return cpu_online(cpu) ? KPL_GFP :
				 (KPL_GFP_SHARED & ~__GFP_RETRY_MAYFAIL) | __GFP_NORETRY;
}

int kpl_area_alloc(struct kpl_area *area, const struct kpl_area_plan *plan, u32 cpu);
void kpl_area_free(struct kpl_area *area);
u64 kpl_area_memory(const struct kpl_area_plan *plan);

/* Without any area; `stride` in bytes.  NULL: there is no memory. */
struct kpl_areas *kpl_areas_alloc(struct kpl_session *s, const struct kpl_area_plan *plan,
				  u64 stride, bool writable);
void kpl_areas_put(struct kpl_areas *areas);
/* What was charged with them is gone. */
void kpl_areas_uncharge(struct kpl_areas *areas, u64 bytes);
u64 kpl_areas_memory(void);	/* of a struct kpl_areas */

/* Takes over what is from now on the CPU's.  It had none. */
void kpl_areas_set(struct kpl_areas *areas, u32 cpu, const struct kpl_area *area);

/*
 * mmap_lock is held.  Maps the area that begins `off` bytes from the first, as
 * much of it as the vma has, or several where nothing is between them.
 */
int kpl_areas_mmap(struct kpl_areas *areas, struct vm_area_struct *vma, u64 off);

/* Zeros in a row that take no memory, for vunmap(); to be read only.  NULL: it can't be had. */
void *kpl_zeros_map(u64 bytes);

int kpl_area_init(void);
void kpl_area_exit(void);

#endif
