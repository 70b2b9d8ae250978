/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * One handler of a probe at a hit, whatever the kind: filter, guard, run, count.
 * Any context, preemption off.
 */
#ifndef KPL_HANDLE_H
#define KPL_HANDLE_H

#include <asm/local64.h>

#include "kind.h"
#include "overload.h"

static __always_inline const struct kpl_probe *kpl_probe_of(struct kprobe *kp)
{
	return container_of(kp, struct kpl_probe, rp.kp);
}

/* Whether the hit is not one of those that a probe is for. */
bool kpl_when_fails(const struct kpl_probe *pr);

/* A handler ended otherwise than well: how to count it. */
enum kpl_count kpl_ended(const struct kpl_ctx *ctx, const struct kpl_handler *handler, u64 result);

/* A handler without instance data stopped: the fault handler, if there is one, runs instead. */
void kpl_stopped(const struct kpl_probe *pr, enum kpl_side side, u64 result);

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
	if (!kpl_when_fails(pr))
		return false;
	kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_SKIPPED);
	return true;
}

/* Takes the guard; false: the hit is counted as missed. */
static __always_inline bool kpl_begin(struct kpl_ctx *ctx, const struct kpl_probe *pr,
				      enum kpl_side side)
{
	if (unlikely(ctx->origin)) {
		kpl_count(&pr->origin, side, KPL_C_MISSED);
		return false;
	}
	ctx->origin = &pr->origin;
	barrier();
	return true;
}

static __always_inline void kpl_end(void)
{
	barrier();
	__this_cpu_write(kpl_ctx.origin, NULL);
}

/* One that only adds a number has its turn to be timed. */
void kpl_add_timed(const struct kpl_probe *pr, enum kpl_side side);

/*
 * A handler that only adds a number.  What interrupts between two of its steps
 * finds nothing half done: the guard must be free, and need not be taken.
 */
static __always_inline void kpl_add(const struct kpl_probe *pr, struct kpl_ctx *ctx,
				    enum kpl_side side)
{
	const struct kpl_adds *adds = &pr->handler[side].adds;

	if (unlikely(kpl_countdown(ctx) < 0)) {
		kpl_add_timed(pr, side);
		return;
	}
	local64_add(adds->n, (local64_t *)this_cpu_read(*adds->value));
	kpl_count(&pr->origin, side, KPL_C_HANDLED);
}

/* Under the guard; what this kind of hit brings is in `ctx`. */
static __always_inline void kpl_run_held(const struct kpl_probe *pr, struct kpl_ctx *ctx,
					  enum kpl_side side)
{
	u64 result;

	if (pr->handler[side].looks == KPL_LOOKS_AT_ALL)
		kpl_look(ctx, &pr->origin);
	result = kpl_run(ctx, &pr->handler[side]);
	if (likely(result == KPL_RET_DONE))
		kpl_count(&pr->origin, side, KPL_C_HANDLED);
	else
		kpl_stopped(pr, side, result);
}

/* The same, and gives the guard back. */
static __always_inline void kpl_run_begun(const struct kpl_probe *pr, struct kpl_ctx *ctx,
					  enum kpl_side side)
{
	kpl_run_held(pr, ctx, side);
	kpl_end();
}

static __always_inline void kpl_handle(const struct kpl_probe *pr, enum kpl_side side,
				       struct pt_regs *regs)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr))
		return;
	if (!kpl_begin(ctx, pr, side))
		return;
	ctx->hit.regs = (unsigned long)regs;
	kpl_run_begun(pr, ctx, side);
}

/* The same, where the registers are others than a probe's before its instruction. */
static __always_inline void kpl_handle_as(const struct kpl_probe *pr, enum kpl_side side,
					  struct pt_regs *regs, enum kpl_regs_are are)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr) || !kpl_begin(ctx, pr, side))
		return;
	ctx->hit.regs = (unsigned long)regs;
	ctx->regs_are = are;
	kpl_run_held(pr, ctx, side);
	ctx->regs_are = KPL_REGS_PROBED;
	kpl_end();
}

#endif
