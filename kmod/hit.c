// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hit path: from the kernel's call to the handler's end.  Any context but
 * that of user mode, preemption off; no lock, no allocation, nothing that may
 * sleep.  What a hit costs is measured in instructions: keep it short.
 */
#include <linux/sched.h>
#include <linux/static_call.h>

#include "compat.h"
#include "handle.h"
#include "hit.h"
#include "overload.h"
#include "trace.h"

/* The kernel's own handler at the entry of a function with a return probe: called directly. */
DEFINE_STATIC_CALL_NULL(kpl_hook_return, kpl_hit_call);

void kpl_hook_return_set(kprobe_pre_handler_t hook)
{
	if (static_call_query(kpl_hook_return) != hook)
		static_call_update(kpl_hook_return, hook);
}

static __always_inline const struct kpl_probe *kpl_probe_of(struct kprobe *kp)
{
	return container_of(kp, struct kpl_probe, rp.kp);
}

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
 * ftrace has its registers back as they were.
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
	kpl_run_traced_at(pr, ctx, KPL_SIDE_FIRST, kpl_kprobe_ip(pr->site));
	kpl_run_traced_at(pr, ctx, KPL_SIDE_SECOND, kpl_behind_site(pr->site));
	instruction_pointer_set(regs, ip);
}

static __always_inline void kpl_handle_traced(const struct kpl_probe *pr, struct pt_regs *regs)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr))
		return;
	if (unlikely(ctx->busy)) {
		kpl_count_sides(pr, KPL_C_MISSED);
		return;
	}
	ctx->begun = 1;
	barrier();
	ctx->hit.regs = (unsigned long)regs;
	if (unlikely(pr->around)) {
		kpl_run_around(pr, &ctx->hit, regs);
	} else {
		if (pr->handler[KPL_SIDE_FIRST].looks == KPL_LOOKS_AT_ALL)
			kpl_look(ctx, &pr->origin);
		kpl_run_traced(pr, ctx, KPL_SIDE_FIRST);
	}
	kpl_end();
}

/* Any context.  Tear-down does not lean on RCU alone, so it need not be watching. */
void kpl_hit_trace_one(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		       struct ftrace_regs *fregs)
{
	const struct kpl_trace *t = container_of(ops, struct kpl_trace, ops);
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	pr = READ_ONCE(t->slots->first);
	if (likely(pr))
		kpl_handle_traced(pr, kpl_ftrace_regs(fregs));
	preempt_enable_notrace();
}

void kpl_hit_trace_many(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
	const struct kpl_trace *t = container_of(ops, struct kpl_trace, ops);
	const struct kpl_trace_slot *slot = &t->slots[kpl_trace_hash(t, ip)];
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	while (unlikely(slot->site != ip && slot->site))
		slot = slot == &t->slots[t->mask] ? t->slots : slot + 1;
	for (pr = READ_ONCE(slot->first); pr; pr = READ_ONCE(pr->same))
		kpl_handle_traced(pr, kpl_ftrace_regs(fregs));
	preempt_enable_notrace();
}
#endif

/* ----------------------------------------------------------------- kretprobes */

/*
 * A function with a return probe is entered.  This stands before the kernel's
 * own handler, which counts a missing instance without care for other CPUs.
 * That there was one shows in the task's list of them ...
 */
int kpl_hit_call(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);
	const void *top = kpl_top_return();

	static_call(kpl_hook_return)(kp, regs);
	if (likely(top != kpl_top_return()))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
	else
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_MISSED);
	return 0;
}

/* ... or in the entry handler's having been called. */
int kpl_hit_call_entry(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);

	__this_cpu_write(kpl_ctx.entered, 0);
	static_call(kpl_hook_return)(kp, regs);
	if (unlikely(!__this_cpu_read(kpl_ctx.entered)))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_MISSED);
	return 0;
}

/* A call that `when` refuses takes no instance. */
int kpl_hit_call_when(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);

	if (kpl_skipped(pr))
		return 0;
	return pr->rp.entry_handler ? kpl_hit_call_entry(kp, regs) : kpl_hit_call(kp, regs);
}

/* The entry handler ended otherwise than well: no return handler for this call. */
static noinline void kpl_entry_ended(const struct kpl_probe *pr, u64 result)
{
	struct kpl_ctx *ctx = kpl_ctx_here();
	enum kpl_count counter = kpl_ended(ctx, &pr->handler[KPL_SIDE_FIRST], result);

	kpl_count(&pr->origin, KPL_SIDE_FIRST, counter);
	if (counter == KPL_C_DECLINED)
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
}

/*
 * Known before the context is: the compiler puts that where `ri` came in, and
 * would keep a copy of `ri`.
 */
static __always_inline u64 kpl_data_of(struct kretprobe_instance *ri)
{
	u64 data = (unsigned long)ri->data;

	OPTIMIZER_HIDE_VAR(data);
	return data;
}

static __always_inline void kpl_look_at_call(struct kpl_ctx *ctx, u64 data, struct pt_regs *regs,
					     enum kpl_looks looks)
{
	if (looks == KPL_LOOKS_NOWHERE)
		return;
	ctx->hit.regs = (unsigned long)regs;
	ctx->hit.data = data;
}

/* Non-zero: the instance is given back. */
static __always_inline int kpl_entered(struct kretprobe_instance *ri, struct pt_regs *regs,
				       enum kpl_looks looks)
{
	const struct kpl_probe *pr = container_of(get_kretprobe(ri), struct kpl_probe, rp);
	u64 data = kpl_data_of(ri);
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 result;

	__this_cpu_write(kpl_ctx.entered, 1);
	if (kpl_over(pr) || !kpl_begin(ctx, pr, KPL_SIDE_FIRST))
		return 1;
	kpl_look_at_call(ctx, data, regs, looks);
	if (looks == KPL_LOOKS_AT_ALL) {
		kpl_look(ctx, &pr->origin);
		ctx->hit.ret_addr = kpl_return_address(regs);
	}
	result = kpl_run(ctx, &pr->handler[KPL_SIDE_FIRST]);
	if (likely(result == KPL_RET_DONE))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
	else
		kpl_entry_ended(pr, result);
	kpl_end();
	return result != KPL_RET_DONE || !pr->handler[KPL_SIDE_SECOND].run;
}

static noinline void kpl_return_ended(const struct kpl_probe *pr, u64 result)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	kpl_count(&pr->origin, KPL_SIDE_SECOND,
		  kpl_ended(ctx, &pr->handler[KPL_SIDE_SECOND], result));
}

/* A call that came after exit(), of a probe that has no entry handler to tell, was skipped. */
static __always_inline int kpl_returned(struct kretprobe_instance *ri, struct pt_regs *regs,
					enum kpl_looks looks)
{
	const struct kpl_probe *pr = container_of(get_kretprobe(ri), struct kpl_probe, rp);
	u64 data = kpl_data_of(ri);
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 result;

	if (kpl_over(pr)) {
		kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_SKIPPED);
		return 0;
	}
	if (!kpl_begin(ctx, pr, KPL_SIDE_SECOND))
		return 0;
	kpl_look_at_call(ctx, data, regs, looks);
	if (looks == KPL_LOOKS_AT_ALL) {
		kpl_look(ctx, &pr->origin);
		ctx->hit.ret = regs_return_value(regs);
		ctx->hit.ret_addr = instruction_pointer(regs);
	}
	result = kpl_run(ctx, &pr->handler[KPL_SIDE_SECOND]);
	if (likely(result == KPL_RET_DONE))
		kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_HANDLED);
	else
		kpl_return_ended(pr, result);
	kpl_end();
	return 0;
}

/* A function for each side and for how much its handler looks at. */
#define KPL_RETURN_HITS(name, looks)							\
	static int kpl_entered_##name(struct kretprobe_instance *ri, struct pt_regs *regs)	\
	{										\
		return kpl_entered(ri, regs, looks);					\
	}										\
	static int kpl_returned_##name(struct kretprobe_instance *ri, struct pt_regs *regs)	\
	{										\
		return kpl_returned(ri, regs, looks);					\
	}

KPL_RETURN_HITS(plain, KPL_LOOKS_NOWHERE)
KPL_RETURN_HITS(call, KPL_LOOKS_AT_CALL)
KPL_RETURN_HITS(all, KPL_LOOKS_AT_ALL)

void kpl_hit_handlers(struct kpl_probe *pr)
{
	static const kretprobe_handler_t entered[] = {
		kpl_entered_plain, kpl_entered_call, kpl_entered_all,
	};
	static const kretprobe_handler_t returned[] = {
		kpl_returned_plain, kpl_returned_call, kpl_returned_all,
	};

	if (pr->handler[KPL_SIDE_FIRST].run)
		pr->rp.entry_handler = entered[pr->handler[KPL_SIDE_FIRST].looks];
	/* Without a handler of ours it is never called: no entry handler keeps the instance. */
	pr->rp.handler = returned[pr->handler[KPL_SIDE_SECOND].looks];
}
