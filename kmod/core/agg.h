/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The values of aggregations (aggs.def): their size, and how a number is added to one.  Any context. */
#ifndef KPL_CORE_AGG_H
#define KPL_CORE_AGG_H

#include "core.h"

#define KPL_HIST_SLOTS	66

/* What an update does, by kind: known when a map is created. */
enum kpl_agg_update {
	KPL_UPDATE_ADD,		/* the only word grows by the number */
	KPL_UPDATE_POWERS,	/* a counter of kpl_hist_slot() */
	KPL_UPDATE_STEPS,	/* a counter of kpl_lhist_slot() */
	KPL_UPDATE_WORDS,	/* kpl_agg_words_add() */
};

static inline enum kpl_agg_update kpl_agg_update_of(const struct kpl_agg_desc *agg)
{
	if (agg->slots == KPL_SLOTS_POWERS)
		return KPL_UPDATE_POWERS;
	if (agg->slots == KPL_SLOTS_STEPS)
		return KPL_UPDATE_STEPS;
	return agg->holds & (agg->holds - 1u) ? KPL_UPDATE_WORDS : KPL_UPDATE_ADD;
}

/* 64-bit words of a value; lo, hi, step: of STEPS, hi over lo and step over 0. */
static inline u32 kpl_agg_words(const struct kpl_agg_desc *agg, s64 lo, s64 hi, s64 step)
{
	u32 words = 0, holds;

	if (agg->slots == KPL_SLOTS_POWERS)
		return KPL_HIST_SLOTS;
	if (agg->slots == KPL_SLOTS_STEPS)
		return (u32)(((u64)hi - (u64)lo) / (u64)step) + 2;
	for (holds = agg->holds; holds; holds &= holds - 1)
		words++;
	return words;
}

static inline u32 kpl_hist_slot(s64 n)
{
	return n > 0 ? (u32)(__builtin_clzll((u64)n) ^ 63) + 2 : n == 0;
}

static inline u32 kpl_lhist_slot(s64 lo, s64 step, u32 nr_slots, s64 n)
{
	u64 steps;

	if (n < lo)
		return 0;
	/* From the smallest number to the largest they are too many to add one. */
	steps = ((u64)n - (u64)lo) / (u64)step;
	return steps < nr_slots - 2 ? 1 + (u32)steps : nr_slots - 1;
}

/* Values of several words; N is the first. */
static inline void kpl_agg_words_add(u32 holds, u64 *value, s64 n)
{
	u32 first = !value[0];

	*value++ += 1;
	if (holds & KPL_AGG_SUM)
		*value++ += (u64)n;
	if (holds & KPL_AGG_MIN) {
		if (first || n < (s64)*value)
			*value = (u64)n;
		value++;
	}
	if ((holds & KPL_AGG_MAX) && (first || n > (s64)*value))
		*value = (u64)n;
}

#endif
