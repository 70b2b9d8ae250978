/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A trace: one ftrace_ops for many functions, those of one attach call whose
 * handlers want the same registers.
 */
#ifndef KPL_TRACE_H
#define KPL_TRACE_H

#include <linux/ftrace.h>

#include "compat.h"
#include "kind.h"

/* A place in a function that ftrace calls from; 0: none. */
struct kpl_trace_slot {
	unsigned long site;
	struct kpl_probe *first;	/* armed; the others by `same` */
};

struct kpl_trace {
	struct ftrace_ops ops;
	/* Open addressing; constant while registered, but for `first`. */
	struct kpl_trace_slot *slots;
	u32 shift;			/* 64 - log2 of their number; at most 63 */
	u32 mask;

	/* Under ftrace.c's lock. */
	struct list_head list;		/* of all traces */
	struct kpl_probe **probes;	/* all that were ever in it; NULL: freed */
	unsigned long *sites;		/* room for a filter: what disarms must not need memory */
	u32 nr_probes;
	u32 refs;			/* of probes not freed */
	bool registered;
	bool changed;			/* by the operation under way */
	int error;			/* of that */
};

#ifdef KPL_TRACES
/* With one slot only, the result means nothing. */
static __always_inline u32 kpl_trace_hash(const struct kpl_trace *t, unsigned long site)
{
	return (site * 0x9e3779b97f4a7c15ull) >> t->shift;
}
#endif

#endif
