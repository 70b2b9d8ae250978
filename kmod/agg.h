/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Aggregations: cells of each CPU's own. */
#ifndef KPL_AGG_H
#define KPL_AGG_H

#include <linux/percpu.h>

#include "grow.h"
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
	/* What there is without memory: no cell, and no room for one. */
	struct kpl_agg_view no_view;
	struct kpl_agg_bank no_bank;
};

struct kpl_agg {
	struct kpl_shape shape;
	u32 update;			/* enum kpl_agg_update */
	u32 holds;			/* KPL_AGG_* */
	s64 lo, step;			/* of those in steps */
	struct kpl_agg_cpu __percpu *cpu;
	struct kpl_grower grower;
	struct kpl_areas *areas;
	u64 *no_index;			/* keyed: of CPUs without memory */
	struct kpl_agg_cell *no_cell;	/* unkeyed: likewise, theirs together */
	u32 index_size;			/* slots of one, a power of two; 0: no key */
	u32 index_mask;
	u32 cell_size;
	u64 bank_size;
	u64 epoch;
	u32 active;			/* bank, for the reader */
	u32 next;			/* bank, of CPUs that come; areas->lock */
};

/* Process context. */
u64 kpl_agg_memory(struct kpl_agg *agg);	/* areas, without any CPU's; also plans the layout */
u64 kpl_agg_rest(const struct kpl_agg *agg);	/* what goes with the map, whoever maps its cells */
int kpl_agg_alloc(struct kpl_agg *agg, struct kpl_session *s);
void kpl_agg_free(struct kpl_agg *agg);
u64 kpl_agg_lost(const struct kpl_agg *agg);	/* updates of CPUs without memory */
s32 kpl_agg_helper(const struct kpl_agg *agg);	/* what calls of agg_add become */
void kpl_agg_clear(struct kpl_agg *agg);	/* returns when the old bank is quiet */

/* Ours alone: what a loaded program calls in the place of agg_add, but for the last. */
enum {
	KPL_H_ADD_NUMBER = KPL_H_END_,
	KPL_H_ADD_HIST,
	KPL_H_ADD_AT_NUMBER,
	KPL_H_ADD_AT_STRING,
	KPL_H_CLOCK,		/* in the place of now: the kernel's own function */
	KPL_HELPERS		/* with all that helpers.def has */
};

u64 kpl_h_add_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_hist(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_at_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_at_string(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);

#endif
