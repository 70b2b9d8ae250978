/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The helpers, by id: what engines call. */
#ifndef KPL_HELPERS_H
#define KPL_HELPERS_H

#include <linux/cgroup.h>
#include <linux/sched.h>

#include "agg.h"
#include "core/core.h"

extern const kpl_helper_fn kpl_helpers[KPL_HELPERS];

/*
 * The id of the current task's cgroup, without asking whether RCU watches: it
 * may not, on a CPU that comes up or goes down.  Preemption is off, so the set
 * can't go away.
 */
static __always_inline u64 kpl_current_cgroup(void)
{
#ifdef CONFIG_CGROUPS
	return cgroup_id(rcu_dereference_raw(current->cgroups)->dfl_cgrp);
#else
	return 0;
#endif
}

#endif
