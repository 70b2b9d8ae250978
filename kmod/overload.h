/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What handlers may take of each CPU: measured at hits, bounded by each session's share. */
#ifndef KPL_OVERLOAD_H
#define KPL_OVERLOAD_H

#include "guard.h"
#include "prog.h"

/* What `overload` of a hit's origin is. */
enum kpl_overload_state {
	KPL_OVERLOAD_NONE,
	KPL_OVERLOAD_SEEN,	/* on its way to the next */
	KPL_OVERLOAD_TOLD,	/* its handlers run no more */
};

/* Under the guard.  Runs a handler whose time is taken; its r0. */
u64 kpl_run_timed(struct kpl_hit *hit, const struct kpl_handler *handler);
/* The same for a fault handler, which no countdown stands before. */
u64 kpl_run_fault(struct kpl_hit *hit, const struct kpl_handler *handler);

/*
 * Below 0: this hit is timed.  kpl_overload_watch() on another CPU may write
 * meanwhile: then it is this hit that is timed, or one of the next few.
 */
static __always_inline s32 kpl_countdown(struct kpl_ctx *ctx)
{
	return data_race(--ctx->until);
}

static __always_inline u64 kpl_run(struct kpl_ctx *ctx, const struct kpl_handler *handler)
{
	if (unlikely(kpl_countdown(ctx) < 0))
		return kpl_run_timed(&ctx->hit, handler);
	return kpl_handler_call(handler, &ctx->hit);
}

/* Process context, the session's lock held. */
void kpl_overload_forgive(struct kpl_origin *origin);	/* it may run again */
void kpl_overload_watch(void);	/* probes are armed: look soon at what they take */
int kpl_share(struct kpl_session *s, struct kpl_share *arg);

/* From an interrupt, after hits have woken the session: whoever disarms is to work. */
void kpl_overload_woken(struct kpl_session *s);

#endif
