/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What became of hits.  Process context. */
#ifndef KPL_STATS_H
#define KPL_STATS_H

#include "guard.h"

u64 kpl_counter_read(const struct kpl_origin *origin, enum kpl_side side, enum kpl_count counter);
void kpl_counts_read(const struct kpl_origin *origin, enum kpl_side side, struct kpl_counts *out);

/* Hits that the kernel itself did not deliver. */
static inline void kpl_counts_miss(struct kpl_counts *counts, u64 nr)
{
	counts->hits += nr;
	counts->missed += nr;
}

int kpl_stats(struct kpl_session *s, struct kpl_stats *arg);

#endif
