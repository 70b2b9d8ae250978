/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The target's own tracepoints: as many arguments as there may be, and none wider than a byte or two. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kpl_target

#if !defined(KPL_TARGET_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KPL_TARGET_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(kpl_t_twelve,
	TP_PROTO(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k,
		 const char *name),
	TP_ARGS(a, b, c, d, e, f, g, h, i, j, k, name),
	TP_STRUCT__entry(__field(long, first)),
	TP_fast_assign(__entry->first = a;),
	TP_printk("%ld", __entry->first)
);

/* It has the module called when it is switched on and off. */
TRACE_EVENT_FN(kpl_t_asks,
	TP_PROTO(long a), TP_ARGS(a),
	TP_STRUCT__entry(__field(long, first)), TP_fast_assign(__entry->first = a;),
	TP_printk("%ld", __entry->first), kpl_t_switched_on, kpl_t_switched_off
);

/* Without an event in tracefs. */
DECLARE_TRACE(kpl_t_bare, TP_PROTO(long a), TP_ARGS(a));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE kpl_target_trace
#include <trace/define_trace.h>
