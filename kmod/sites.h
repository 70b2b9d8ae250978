/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Sites: the instructions that ftrace calls from.  Process context. */
#ifndef KPL_SITES_H
#define KPL_SITES_H

#include "compat.h"
#include "kind.h"

#ifdef KPL_TRACES
/*
 * It has found itself wrong and shut itself down, for good: what it calls now, it
 * calls on.  The call that it dies in may return no error.
 */
bool kpl_ftrace_is_dead(void);

/*
 * Until nobody is on his way over what stood in ftrace's list, or through what
 * it called: registering puts an ftrace_ops there before the last that it may
 * fail for, and waits for nobody.
 */
void kpl_ftrace_settle(void);

/*
 * Finds the site of each probe; `error` is -EINVAL for one that has none, or whose
 * site ftrace will not trace, -ENOENT for one that goes with its module.
 */
void kpl_sites_find(struct kpl_probe **prs, u32 nr);
#endif

#endif
