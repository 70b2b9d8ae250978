// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hit path: from the kernel's call to the handler's end.  Any context but
 * that of user mode, preemption off; no lock, no allocation, nothing that may
 * sleep.  What a hit costs is measured in instructions: keep it short.
 */
#include <linux/sched.h>

#include "compat.h"
#include "handle.h"
#include "hit.h"
#include "trace.h"

/* -------------------------------------------------------------------- kprobes */

int kpl_hit_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kpl_handle(kpl_probe_of(kp), KPL_SIDE_FIRST, regs);
	return 0;
}

int kpl_hit_pre_when(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);

	if (!kpl_over(pr) && !kpl_skipped(pr))
		kpl_handle(pr, KPL_SIDE_FIRST, regs);
	return 0;
}

/* Its handler may go on elsewhere: then the kernel must not run the instruction. */
int kpl_hit_pre_move(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);
	struct kpl_ctx *ctx = kpl_ctx_here();
	int moved;

	if (kpl_over(pr) || (pr->when.mask && kpl_skipped(pr)) ||
	    !kpl_begin(ctx, pr, KPL_SIDE_FIRST))
		return 0;
	ctx->hit.regs = (unsigned long)regs;
	ctx->moved = 0;
	kpl_run_held(pr, ctx, KPL_SIDE_FIRST);
	moved = ctx->moved;
	kpl_end();
	return moved;
}

/* With a post handler, no jump takes the breakpoint's place: it would not obey. */
void kpl_hit_post_nothing(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* `when` may decide otherwise than before the instruction: it is asked, and counted, again. */
void kpl_hit_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);

	if (pr->when.mask && kpl_when_fails(pr)) {
		if (!kpl_over(pr))
			kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_SKIPPED);
		return;
	}
	kpl_handle_as(pr, KPL_SIDE_SECOND, regs, KPL_REGS_EXACT);
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * Of a kprobe at an ftrace site the kernel must know no post handler (see
 * kprobe.c).  The instruction there is a nop: nothing lies between the two.
 */
int kpl_hit_around(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long ip = instruction_pointer(regs);

	if (kpl_probe_of(kp)->handler[KPL_SIDE_FIRST].run)
		kpl_hit_pre_when(kp, regs);
	instruction_pointer_set(regs, kpl_behind_site((unsigned long)kp->addr));
	kpl_hit_post(kp, regs, 0);
	instruction_pointer_set(regs, ip);
	return 0;
}
#endif

/* The hook of a probe that is off, where the kernel can't take it away. */
int kpl_hit_nothing(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

/* --------------------------------------------------------------------- ftrace */

#ifdef KPL_TRACES
/* What becomes of a hit before any handler runs becomes of both of them. */
static noinline void kpl_count_sides(const struct kpl_probe *pr, enum kpl_count counter)
{
	u32 side;

	for (side = 0; side < KPL_SIDES; side++)
		if (pr->handler[side].run)
			kpl_count(&pr->origin, side, counter);
}

/*
 * No kprobe layer stands before this one: whatever is called before the guard
 * is taken must not be traceable, so the guard comes before `when`.
 */
static __always_inline void kpl_run_traced(const struct kpl_probe *pr, struct kpl_ctx *ctx,
					   enum kpl_side side)
{
	u64 result = kpl_run(ctx, &pr->handler[side]);

	if (likely(result == KPL_RET_DONE))
		kpl_count(&pr->origin, side, KPL_C_HANDLED);
	else
		kpl_stopped(pr, side, result);
}

static __always_inline void kpl_run_traced_at(const struct kpl_probe *pr, struct kpl_ctx *ctx,
					      enum kpl_side side, unsigned long ip)
{
	if (!pr->handler[side].run || kpl_over(pr))
		return;
	kpl_look(ctx, &pr->origin);
	instruction_pointer_set((struct pt_regs *)ctx->hit.regs, ip);
	kpl_run_traced(pr, ctx, side);
}

/*
 * All but a pre handler alone: handlers see what they would at a kprobe, and
 * ftrace has its registers back as they were, but for what a handler changed.
 */
static noinline void kpl_run_around(const struct kpl_probe *pr, struct kpl_hit *hit,
				    struct pt_regs *regs)
{
	struct kpl_ctx *ctx = kpl_ctx_of((unsigned long)hit);
	unsigned long ip = instruction_pointer(regs);

	if (pr->when.mask && kpl_when_fails(pr)) {
		kpl_count_sides(pr, KPL_C_SKIPPED);
		return;
	}
	ctx->moved = 0;
	kpl_run_traced_at(pr, ctx, KPL_SIDE_FIRST, kpl_kprobe_ip(pr->site));
	if (unlikely(ctx->moved))
		return;
	kpl_run_traced_at(pr, ctx, KPL_SIDE_SECOND, kpl_behind_site(pr->site));
	instruction_pointer_set(regs, ip);
}

/* Without `looks`, its handler does not look at the registers. */
static __always_inline void kpl_handle_traced(const struct kpl_probe *pr, struct pt_regs *regs,
					      bool looks, enum kpl_way way)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr))
		return;
	if (unlikely(ctx->origin)) {
		kpl_count_sides(pr, KPL_C_MISSED);
		return;
	}
	if (way == KPL_WAY_ADDS) {
		kpl_add(pr, ctx, KPL_SIDE_FIRST);
		return;
	}
	ctx->origin = &pr->origin;
	barrier();
	if (looks)
		ctx->hit.regs = (unsigned long)regs;
	if (way == KPL_WAY_AROUND) {
		kpl_run_around(pr, &ctx->hit, regs);
	} else {
		if (way == KPL_WAY_STATUS)
			kpl_look_at_status(ctx);
		else if (way == KPL_WAY_LOOK)
			kpl_look(ctx, &pr->origin);
		kpl_run_traced(pr, ctx, KPL_SIDE_FIRST);
	}
	kpl_end();
}

static noinline void kpl_missed_traced(const struct kpl_probe *pr)
{
	for (; pr; pr = READ_ONCE(pr->same))
		if (!kpl_over(pr))
			kpl_count_sides(pr, KPL_C_MISSED);
}

/*
 * Several probes at one function, of whatever sessions, or one that the trace's
 * own function is not for.  The guard is asked for once, and free again before
 * and behind those that only add: what interrupts there may run handlers, and
 * leave its own in the hit.
 */
static noinline void kpl_handle_shared(const struct kpl_probe *pr, struct pt_regs *regs)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (unlikely(ctx->origin)) {
		kpl_missed_traced(pr);
		return;
	}
	for (; pr; pr = READ_ONCE(pr->same)) {
		if (kpl_over(pr))
			continue;
		if (pr->way == KPL_WAY_ADDS) {
			kpl_add(pr, ctx, KPL_SIDE_FIRST);
			continue;
		}
		ctx->origin = &pr->origin;
		barrier();
		ctx->hit.regs = (unsigned long)regs;
		if (pr->way == KPL_WAY_AROUND) {
			kpl_run_around(pr, &ctx->hit, regs);
			continue;
		}
		if (pr->way != KPL_WAY_BRIEF)
			kpl_look(ctx, &pr->origin);
		kpl_run_traced(pr, ctx, KPL_SIDE_FIRST);
	}
	kpl_end();
}

/*
 * Any context.  Tear-down does not lean on RCU alone, so it need not be watching.
 * A probe that comes or goes is found by one way or the other, never by both.
 */
static __always_inline void kpl_hit_slot(const struct kpl_trace_slot *slot,
					 struct ftrace_regs *fregs, bool looks, enum kpl_way way)
{
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	pr = READ_ONCE(slot->only);
	if (likely(pr))
		kpl_handle_traced(pr, kpl_ftrace_regs(fregs), looks, way);
	else
		kpl_handle_shared(smp_load_acquire(&slot->first), kpl_ftrace_regs(fregs));
	preempt_enable_notrace();
}

static __always_inline const struct kpl_trace_slot *kpl_hit_sole(struct ftrace_ops *ops,
								  unsigned long ip)
{
	return &container_of(ops, struct kpl_trace, ops)->sole;
}

static __always_inline const struct kpl_trace_slot *kpl_hit_found(struct ftrace_ops *ops,
								   unsigned long ip)
{
	const struct kpl_trace *t = container_of(ops, struct kpl_trace, ops);
	const struct kpl_trace_slot *slot = &t->slots[kpl_trace_hash(t, ip)];

	while (unlikely(slot->site != ip && slot->site))
		slot = slot == &t->slots[t->mask] ? t->slots : slot + 1;
	return slot;
}

/* One of a trace of one function, or of many, by what its probes' handlers look at. */
#define KPL_TRACE_HIT(name, slot, looks, way)						\
	static void kpl_hit_trace_##name(unsigned long ip, unsigned long parent,		\
					 struct ftrace_ops *ops, struct ftrace_regs *fregs)	\
	{										\
		kpl_hit_slot(slot(ops, ip), fregs, looks, way);				\
	}

KPL_TRACE_HIT(adds, kpl_hit_sole, false, KPL_WAY_ADDS)
KPL_TRACE_HIT(plain, kpl_hit_sole, false, KPL_WAY_BRIEF)
KPL_TRACE_HIT(call, kpl_hit_sole, true, KPL_WAY_BRIEF)
KPL_TRACE_HIT(status, kpl_hit_sole, true, KPL_WAY_STATUS)
KPL_TRACE_HIT(all, kpl_hit_sole, true, KPL_WAY_LOOK)
KPL_TRACE_HIT(around, kpl_hit_sole, true, KPL_WAY_AROUND)
KPL_TRACE_HIT(many_adds, kpl_hit_found, false, KPL_WAY_ADDS)
KPL_TRACE_HIT(many_plain, kpl_hit_found, false, KPL_WAY_BRIEF)

static void kpl_hit_trace_many(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	const struct kpl_trace_slot *slot = kpl_hit_found(ops, ip);

	preempt_disable_notrace();
	kpl_handle_shared(READ_ONCE(slot->first), kpl_ftrace_regs(fregs));
	preempt_enable_notrace();
}

/* A fault handler has the registers, too. */
static ftrace_func_t kpl_hit_trace_for(const struct kpl_probe *pr, bool of_many)
{
	const struct kpl_handler *handler = &pr->handler[KPL_SIDE_FIRST];
	bool regs = handler->looks != KPL_LOOKS_NOWHERE || pr->handler[KPL_HANDLER_FAULT].run;

	switch (pr->way) {
	case KPL_WAY_ADDS:
		return of_many ? kpl_hit_trace_many_adds : kpl_hit_trace_adds;
	case KPL_WAY_BRIEF:
		if (!regs)
			return of_many ? kpl_hit_trace_many_plain : kpl_hit_trace_plain;
		return of_many ? kpl_hit_trace_many : kpl_hit_trace_call;
	case KPL_WAY_STATUS:
		return of_many ? kpl_hit_trace_many : kpl_hit_trace_status;
	case KPL_WAY_LOOK:
		return of_many ? kpl_hit_trace_many : kpl_hit_trace_all;
	case KPL_WAY_AROUND:
		break;
	}
	return of_many ? kpl_hit_trace_many : kpl_hit_trace_around;
}

void kpl_hit_choose(struct kpl_trace *t)
{
	const struct kpl_probe *pr = list_first_entry(&t->probes, struct kpl_probe, in_list);

	t->ops.func = kpl_hit_trace_for(pr, t->mask);
	list_for_each_entry(pr, &t->probes, in_list)
		if (t->mask && t->ops.func != kpl_hit_trace_for(pr, true))
			t->ops.func = kpl_hit_trace_many;
}

bool kpl_hit_fits(const struct kpl_trace *t, const struct kpl_probe *pr)
{
	ftrace_func_t hit = kpl_hit_trace_for(pr, t->mask);

	return t->ops.func == hit && hit != kpl_hit_trace_many;
}
#endif
