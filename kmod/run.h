/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The steps of a hit, whatever brought it.  Any context, preemption off. */
#ifndef KPL_RUN_H
#define KPL_RUN_H

#include "compat.h"
#include "kind.h"
#include "overload.h"
#include "stop.h"

/* Whether the hit is not one of those that a probe is for. */
bool kpl_when_fails(const struct kpl_when *when);

static __always_inline const struct kpl_probe *kpl_probe_of(struct kprobe *kp)
{
	return container_of(kp, struct kpl_probe, rp.kp);
}

/*
 * After exit() nothing is delivered, nor counted; nor of a probe that took too
 * much.  A plain load makes for a shorter test.
 */
static __always_inline bool kpl_over(const struct kpl_probe *pr)
{
	return unlikely(!data_race(*pr->origin.live));
}

/* Refused by `when`; only for probes that have one. */
static __always_inline bool kpl_skipped(const struct kpl_probe *pr)
{
	if (!kpl_when_fails(&pr->when))
		return false;
	kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_SKIPPED);
	return true;
}

/* Takes the guard; false: the hit is counted as missed. */
static __always_inline bool kpl_begin(struct kpl_ctx *ctx, const struct kpl_probe *pr,
				      enum kpl_side side)
{
	if (unlikely(ctx->busy)) {
		kpl_count(&pr->origin, side, KPL_C_MISSED);
		return false;
	}
	ctx->begun = 1;
	barrier();
	return true;
}

static __always_inline void kpl_end(void)
{
	barrier();
	__this_cpu_write(kpl_ctx.busy, 0);
}

/* A handler ended otherwise than well: how to count it. */
static inline enum kpl_count kpl_ended(const struct kpl_ctx *ctx, const struct kpl_handler *handler,
				u64 result)
{
	return kpl_stop(ctx, handler->origin->session, handler->prog->sites, result);
}

#endif
