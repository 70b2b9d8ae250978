/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A trace: one ftrace_ops for many functions.  It is made for those of one
 * attach call whose handlers want the same registers, and takes the probes that
 * come to these functions later, of whatever session: a function that two
 * ftrace_ops are for is called by way of all that the kernel has.
 */
#ifndef KPL_TRACE_H
#define KPL_TRACE_H

#include <linux/ftrace.h>

#include "compat.h"
#include "kind.h"

#ifdef KPL_TRACES
/* A place in a function that ftrace calls from; 0: none. */
struct kpl_trace_slot {
	unsigned long site;
	struct kpl_probe *only;		/* the only armed one, of those that the trace's function is for */
	struct kpl_probe *first;	/* armed; the others by `same` */
	u64 reserved;			/* a shift finds a slot */
};

struct kpl_trace {
	struct ftrace_ops ops;
	struct kpl_trace_slot sole;	/* of a trace of one function */
	/* Open addressing; constant while registered, but for the probes. */
	struct kpl_trace_slot *slots;
	u32 shift;			/* 64 - log2 of their number; at most 63 */
	u32 mask;			/* 0: `sole` is the only one */

	/* Under ftrace.c's lock. */
	struct list_head list;		/* of all traces */
	struct list_head probes;	/* all that are not freed, by `in_list` */
	unsigned long *sites;		/* room for a filter: what disarms must not need memory */
	u64 charged;
	bool moves;			/* handlers may have the function go on elsewhere */
	bool registered;
	bool changed;			/* the filter is not as the probes want it */
	int error;			/* of the operation under way */
};

/* Of a trace of several. */
static __always_inline u32 kpl_trace_hash(const struct kpl_trace *t, unsigned long site)
{
	return (site * 0x9e3779b97f4a7c15ull) >> t->shift;
}
#endif

#endif
