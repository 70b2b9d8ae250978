/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Rings: records from handlers to user space, one ring for each CPU. */
#ifndef KPL_RING_H
#define KPL_RING_H

#include <linux/cache.h>
#include <linux/xarray.h>

#include "grow.h"
#include "session.h"

struct kpl_ring {
	/* The producer's: only this CPU, under the guard. */
	struct kpl_ring_head *head;
	struct kpl_ring_ctl *ctl;
	void *data;			/* mapped twice in a row */
	u64 size;			/* bytes, a power of two; 0: it has no memory */
	struct kpl_rec *rec;		/* the pending record */
	u32 fixed;			/* bytes of its fixed part */
	u32 used, room;			/* its length so far and at most */
	u64 woke_at, woke_tail;		/* the consumer's state at the last wake-up */

	/* What a ring without memory has, which is always full. */
	struct kpl_ring_head no_head;
	struct kpl_ring_ctl no_ctl;
} ____cacheline_aligned;

/* One that a CPU takes in place of its last, which stays for what is in it. */
struct kpl_spare {
	struct kpl_ring ring;
	struct kpl_areas *data, *ctl;	/* of one area each */
	bool offered;
	struct kpl_spare *next;		/* of those on offer */
};

struct kpl_rings {
	struct kpl_grower grower;
	u32 size;			/* data bytes of one of those that all begin with */
	struct kpl_areas *data, *ctl;
	struct xarray spares;		/* struct kpl_spare by number; none goes before the end */
	u32 nr_spares;
	/*
	 * The last on offer.  Any CPU takes it; the session's lock is held to
	 * put one on top.  None comes twice, so that what is on top is the same
	 * as before if it looks the same.
	 */
	struct kpl_spare *on_offer;
	struct kpl_ring of[];		/* nr_cpu_ids */
};

int kpl_ring_setup(struct kpl_session *s, struct kpl_ring_setup *arg);
int kpl_ring_spare(struct kpl_session *s, struct kpl_ring_spare *arg);
int kpl_ring_offer(struct kpl_session *s, struct kpl_ring_offer *arg);
void kpl_rings_free(struct kpl_session *s);

/*
 * What the consumer waits for: records up to wake_at.  A ring that is half
 * full wakes it in any case.
 */
static __always_inline bool kpl_ring_due(u64 head, u64 tail, u64 wake_at, u64 size)
{
	return head != tail && (head >= wake_at || head - tail > size / 2);
}

/* Whether a ring has what its consumer waits for.  Any context. */
bool kpl_rings_ready(struct kpl_session *s);

/* Since the start; 0 without rings.  Process context. */
struct kpl_ring_sums kpl_rings_sums(const struct kpl_session *s);

/* Of these, what was lost where there was no memory for a ring: no ring's head shows it. */
u64 kpl_rings_lost_without(const struct kpl_session *s);

/* Limit of a record's fixed part and tail together; 0: no rings. */
u32 kpl_ring_max_record(const struct kpl_session *s);

int kpl_ring_mmap_ctl(struct kpl_session *s, struct vm_area_struct *vma, u64 off);
int kpl_ring_mmap_data(struct kpl_session *s, struct vm_area_struct *vma, u64 off);
int kpl_ring_mmap_spare(struct kpl_session *s, struct vm_area_struct *vma, u64 off, bool ctl);

#endif
