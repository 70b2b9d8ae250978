/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How often ftrace has refused others a function with EBUSY while we had some
 * that take no second one.  Process context.
 */
#ifndef KPL_REFUSED_H
#define KPL_REFUSED_H

#include "compat.h"

#ifdef KPL_TRACES
/* From the first kpl_refused_hold() to the last kpl_refused_release(), each of which may sleep, it is counted. */
void kpl_refused_hold(void);
void kpl_refused_release(void);
u64 kpl_refused(void);
#else
static inline u64 kpl_refused(void)
{
	return 0;
}
#endif

#endif
