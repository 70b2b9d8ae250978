/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Where and why a program has stopped. */
#ifndef KPL_STOP_H
#define KPL_STOP_H

#include "guard.h"

#define KPL_MAX_SITES	512	/* of a program */

struct kpl_sites;

/* Process context. */
struct kpl_sites *kpl_sites_alloc(u32 kind, u32 nr_insns, enum kpl_looks looks);
void kpl_sites_free(struct kpl_sites *sites);
u64 kpl_sites_memory(u32 nr_insns);
/* All of them, in order; how many.  `out` has room for KPL_MAX_SITES. */
u32 kpl_sites_collect(struct kpl_sites *sites, struct kpl_site *out);

/*
 * A program ended with something other than KPL_RET_DONE: remembers where and
 * why, and says how to count it (KPL_C_*; KPL_C_DECLINED for KPL_RET_SKIP, and
 * KPL_C_MISSED where it was not run at all: then no place is remembered).
 * Any context, preemption off.
 */
enum kpl_count kpl_stop(const struct kpl_ctx *ctx, struct kpl_session *s, struct kpl_sites *sites,
			u64 result);

#endif
