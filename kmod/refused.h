/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How often the kernel has refused others what we had: functions of which ftrace
 * lets one have each, breakpoints of which the processor has four.  Process
 * context.
 */
#ifndef KPL_REFUSED_H
#define KPL_REFUSED_H

#include <linux/types.h>

enum kpl_refusal { KPL_REFUSED_FUNCTIONS, KPL_REFUSED_WATCHPOINTS, KPL_REFUSALS };

/* From the first kpl_refused_hold() to the last kpl_refused_release(), each of which may sleep, these are counted. */
void kpl_refused_hold(enum kpl_refusal what);
void kpl_refused_release(enum kpl_refusal what);
u64 kpl_refused(void);

#endif
