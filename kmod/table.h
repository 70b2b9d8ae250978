/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Probes by an address in their function.  Open addressing; found at hits, in
 * any context.  The addresses are constant while hits may come.
 */
#ifndef KPL_TABLE_H
#define KPL_TABLE_H

#include <linux/log2.h>
#include <linux/slab.h>

#include "kind.h"
#include "session.h"

struct kpl_table_slot {
	unsigned long at;		/* 0: none */
	const struct kpl_probe *pr;	/* NULL: it is off */
};

struct kpl_table {
	struct kpl_table_slot *slots;	/* at most half of them in use */
	u32 shift;			/* 64 - log2 of their number */
	u32 mask;
};

#define KPL_TABLE_SLOTS	4	/* for each probe, at most */

/* Process context, for kvfree(slots). */
static inline int kpl_table_alloc(struct kpl_table *table, u32 nr)
{
	u32 bits = ilog2(roundup_pow_of_two(2 * nr));

	table->slots = kvcalloc(1u << bits, sizeof(*table->slots), KPL_GFP_SHARED);
	table->shift = 64 - bits;
	table->mask = (1u << bits) - 1;
	return table->slots ? 0 : -ENOMEM;
}

/* That of the address, or the empty one where it would be. */
static __always_inline struct kpl_table_slot *kpl_table_slot(const struct kpl_table *table,
							     unsigned long at)
{
	u32 i = (at * 0x9e3779b97f4a7c15ull) >> table->shift;

	while (unlikely(table->slots[i].at != at && table->slots[i].at))
		i = (i + 1) & table->mask;
	return &table->slots[i];
}

static __always_inline const struct kpl_probe *kpl_table_find(const struct kpl_table *table,
							      unsigned long at)
{
	return READ_ONCE(kpl_table_slot(table, at)->pr);
}

#endif
