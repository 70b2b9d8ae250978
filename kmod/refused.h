/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How often the kernel has refused others what we had: functions of which ftrace
 * lets one have each, breakpoints of which the processor has four.  Process
 * context.
 */
#ifndef KPL_REFUSED_H
#define KPL_REFUSED_H

#include <linux/types.h>

/* From the first kpl_refused_hold() to the last kpl_refused_release(), each of which may sleep, it is counted. */
void kpl_refused_hold(void);
void kpl_refused_release(void);
u64 kpl_refused(void);

#endif
