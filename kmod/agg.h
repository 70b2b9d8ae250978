/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Aggregations: cells of each CPU's own. */
#ifndef KPL_AGG_H
#define KPL_AGG_H

#include <linux/percpu.h>

#include "area.h"
#include "shape.h"

#define KPL_BANKS	2

/* One bank of an aggregation, as its CPU uses it. */
struct kpl_agg_view {
	struct kpl_agg_bank *bank;	/* its cells follow */
	u64 *index;			/* keyed: see kpl_index_slot(); 0: empty */
};

/* Both are read once for each update. */
struct kpl_agg_cpu {
	u64 *value;			/* unkeyed: of the active bank's only cell */
	struct kpl_agg_view *now;	/* keyed: the active bank */
	struct kpl_agg_view view[KPL_BANKS];
};

struct kpl_agg {
	struct kpl_shape shape;
	u32 update;			/* enum kpl_agg_update */
	u32 holds;			/* KPL_AGG_* */
	s64 lo, step;			/* of those in steps */
	struct kpl_agg_cpu __percpu *cpu;
	struct kpl_area area;
	u64 *index;			/* of all CPUs and banks */
	u32 index_size;			/* slots of one, a power of two; 0: no key */
	u32 index_mask;
	u32 cell_size;
	u64 bank_size;
	u64 epoch;
	u32 active;			/* bank */
};

/* Process context. */
u64 kpl_agg_memory(struct kpl_agg *agg);	/* also plans the layout */
int kpl_agg_alloc(struct kpl_agg *agg);
void kpl_agg_free(struct kpl_agg *agg);
s32 kpl_agg_helper(const struct kpl_agg *agg);	/* what calls of agg_add become */
void kpl_agg_clear(struct kpl_agg *agg);	/* returns when the old bank is quiet */

/* Ours alone: what a loaded program calls in the place of agg_add. */
enum {
	KPL_H_ADD_NUMBER = KPL_H_END_,
	KPL_H_ADD_HIST,
	KPL_H_ADD_AT_NUMBER,
	KPL_H_ADD_AT_NAME,
	KPL_HELPERS		/* with all that helpers.def has */
};

u64 kpl_h_add_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_hist(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_at_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_at_name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);

#endif
