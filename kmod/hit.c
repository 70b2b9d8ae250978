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

	if (pr->when.mask && kpl_when_fails(&pr->when)) {
		if (!kpl_over(pr))
			kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_SKIPPED);
		return;
	}
	kpl_handle(pr, KPL_SIDE_SECOND, regs);
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

	if (pr->when.mask && kpl_when_fails(&pr->when)) {
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

static __always_inline void kpl_handle_traced(const struct kpl_probe *pr, struct pt_regs *regs,
					      enum kpl_looks looks, bool around)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr))
		return;
	if (unlikely(ctx->origin)) {
		kpl_count_sides(pr, KPL_C_MISSED);
		return;
	}
	ctx->origin = &pr->origin;
	barrier();
	/* Where that is not known when this is compiled, to store is shorter than to ask. */
	if (!__builtin_constant_p(looks) || looks != KPL_LOOKS_NOWHERE)
		ctx->hit.regs = (unsigned long)regs;
	if (unlikely(around)) {
		kpl_run_around(pr, &ctx->hit, regs);
	} else {
		if (looks == KPL_LOOKS_AT_ALL)
			kpl_look(ctx, &pr->origin);
		kpl_run_traced(pr, ctx, KPL_SIDE_FIRST);
	}
	kpl_end();
}

/* Any context.  Tear-down does not lean on RCU alone, so it need not be watching. */
static __always_inline void kpl_hit_trace(const struct kpl_trace *t, struct ftrace_regs *fregs,
					  enum kpl_looks looks, bool around)
{
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	pr = READ_ONCE(t->slots->first);
	if (likely(pr))
		kpl_handle_traced(pr, kpl_ftrace_regs(fregs), looks, around);
	preempt_enable_notrace();
}

#define KPL_TRACE_HIT(name, looks, around)						\
	static void kpl_hit_trace_##name(unsigned long ip, unsigned long parent,		\
					 struct ftrace_ops *ops, struct ftrace_regs *fregs)	\
	{										\
		kpl_hit_trace(container_of(ops, struct kpl_trace, ops), fregs, looks, around);	\
	}

KPL_TRACE_HIT(plain, KPL_LOOKS_NOWHERE, false)
KPL_TRACE_HIT(call, KPL_LOOKS_AT_CALL, false)
KPL_TRACE_HIT(all, KPL_LOOKS_AT_ALL, false)
KPL_TRACE_HIT(around, KPL_LOOKS_AT_ALL, true)

ftrace_func_t kpl_hit_trace_for(const struct kpl_probe *pr)
{
	static const ftrace_func_t hits[] = {
		kpl_hit_trace_plain, kpl_hit_trace_call, kpl_hit_trace_all,
	};

	enum kpl_looks looks = pr->handler[KPL_SIDE_FIRST].looks;

	if (pr->around)
		return kpl_hit_trace_around;
	/* A fault handler has the registers, too. */
	if (pr->handler[KPL_HANDLER_FAULT].run)
		looks = max(looks, KPL_LOOKS_AT_CALL);
	return hits[looks];
}

/* Of many.  `plain`: none of them looks at anything, nor has more than one handler. */
static __always_inline void kpl_hit_traces(const struct kpl_trace *t, unsigned long ip,
					   struct ftrace_regs *fregs, bool plain)
{
	const struct kpl_trace_slot *slot = &t->slots[kpl_trace_hash(t, ip)];
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	while (unlikely(slot->site != ip && slot->site))
		slot = slot == &t->slots[t->mask] ? t->slots : slot + 1;
	for (pr = READ_ONCE(slot->first); pr; pr = READ_ONCE(pr->same))
		kpl_handle_traced(pr, kpl_ftrace_regs(fregs),
				  plain ? KPL_LOOKS_NOWHERE : pr->handler[KPL_SIDE_FIRST].looks,
				  !plain && pr->around);
	preempt_enable_notrace();
}

static void kpl_hit_traces_plain(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
				 struct ftrace_regs *fregs)
{
	kpl_hit_traces(container_of(ops, struct kpl_trace, ops), ip, fregs, true);
}

static void kpl_hit_traces_any(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			       struct ftrace_regs *fregs)
{
	kpl_hit_traces(container_of(ops, struct kpl_trace, ops), ip, fregs, false);
}

ftrace_func_t kpl_hit_traces_for(struct kpl_probe *const *prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (kpl_hit_trace_for(prs[i]) != kpl_hit_trace_plain)
			return kpl_hit_traces_any;
	return kpl_hit_traces_plain;
}
#endif
