// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hits of return probes: a call's entry and its return, by kretprobes or by a
 * stub that the function is called through.  Any context, as in hit.c.
 */
#include <linux/sched.h>
#include <linux/static_call.h>

#include "call.h"
#include "compat.h"
#include "handle.h"
#include "stubs.h"
#include "table.h"

/* The kernel's own handler at the entry of a function with a return probe: called directly. */
DEFINE_STATIC_CALL_NULL(kpl_hook_return, kpl_hit_call);

void kpl_hook_return_set(kprobe_pre_handler_t hook)
{
	if (static_call_query(kpl_hook_return) != hook)
		static_call_update(kpl_hook_return, hook);
}

/* ----------------------------------------------------------------- kretprobes */

/*
 * The kernel's pool of instances takes one back with interrupts off.  An NMI in the
 * middle of that, whose calls take and give back others, leaves it so that who asks
 * next looks for ever (objpool_push).  A breakpoint comes as an NMI does; a jump and
 * ftrace's call do not.
 */
#if defined(KPL_HAVE_RETHOOK_OBJPOOL) && defined(CONFIG_X86)
/*
 * The registers tell: a jump has them saved right below what lies on the stack there,
 * a breakpoint's entry leaves room between, for calls that it may emulate.  What
 * stands at the place may be another CPU's change of a moment ago.
 */
static noinline bool kpl_is_in_nmi(struct kprobe *kp, const struct pt_regs *regs)
{
	bool by_trap = !kprobe_ftrace(kp) && regs->sp > (unsigned long)(regs + 1);

	return (preempt_count() & NMI_MASK) > (by_trap ? NMI_OFFSET : 0);
}

static __always_inline bool kpl_must_not_hook(struct kprobe *kp, const struct pt_regs *regs)
{
	return unlikely(preempt_count() & NMI_MASK) && kpl_is_in_nmi(kp, regs);
}
#else
static __always_inline bool kpl_must_not_hook(struct kprobe *kp, const struct pt_regs *regs)
{
	return IS_ENABLED(KPL_HAVE_RETHOOK_OBJPOOL) && in_nmi();
}
#endif

static __always_inline void kpl_hook(struct kprobe *kp, struct pt_regs *regs)
{
	if (!kpl_must_not_hook(kp, regs))
		static_call(kpl_hook_return)(kp, regs);
}

/*
 * A function with a return probe is entered.  This stands before the kernel's
 * own handler, which counts a missing instance without care for other CPUs.
 * That there was one shows in the task's list of them ...
 */
int kpl_hit_call(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);
	const void *top = kpl_top_return();

	kpl_hook(kp, regs);
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
	kpl_hook(kp, regs);
	if (unlikely(!__this_cpu_read(kpl_ctx.entered)))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_MISSED);
	return 0;
}

/* A call that `when` refuses takes no instance. */
int kpl_hit_call_when(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = kpl_probe_of(kp);

	if (kpl_over(pr) || kpl_skipped(pr))
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
	const struct kretprobe *rp = get_kretprobe(ri);
	const struct kpl_probe *pr = container_of(rp, struct kpl_probe, rp);
	u64 data = kpl_data_of(ri);
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 result;

	__this_cpu_write(kpl_ctx.entered, 1);
	if (kpl_rp_is_gone(rp) || kpl_over(pr) || !kpl_begin(ctx, pr, KPL_SIDE_FIRST))
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
	const struct kretprobe *rp = get_kretprobe(ri);
	const struct kpl_probe *pr = container_of(rp, struct kpl_probe, rp);
	u64 data = kpl_data_of(ri);
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 result;

	if (kpl_rp_is_gone(rp))
		return 0;
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
		[KPL_LOOKS_NOWHERE] = kpl_entered_plain,
		[KPL_LOOKS_AT_CALL] = kpl_entered_call,
		[KPL_LOOKS_AT_ALL] = kpl_entered_all,
	};
	static const kretprobe_handler_t returned[] = {
		[KPL_LOOKS_NOWHERE] = kpl_returned_plain,
		[KPL_LOOKS_AT_CALL] = kpl_returned_call,
		[KPL_LOOKS_AT_ALL] = kpl_returned_all,
	};

	if (pr->handler[KPL_SIDE_FIRST].run)
		pr->rp.entry_handler = entered[pr->handler[KPL_SIDE_FIRST].looks];
	/* Without a handler of ours it is never called: no entry handler keeps the instance. */
	pr->rp.handler = returned[pr->handler[KPL_SIDE_SECOND].looks];
}

/* ---------------------------------------------------------------------- stubs */

#ifdef KPL_DIRECT_CALLS
/*
 * Handlers see what they would at a kretprobe.  Above the frame lie the
 * caller's frame pointer, of a stub of many where the function goes on, and the
 * address that the function returns to.
 */
static __always_inline void kpl_frame_fill(struct kpl_frame *frame, bool many)
{
	unsigned long *above = (unsigned long *)(frame + 1);
	struct pt_regs *regs = &frame->regs;

	regs->bp = above[0];
	regs->sp = (unsigned long)&above[many ? 2 : 1];
	regs->cs = __KERNEL_CS;
}

/* No return handler for this call. */
static __always_inline void kpl_frame_decline(struct kpl_frame *frame)
{
	frame->call |= 1;
}

/* The probe of the function that was entered; NULL: it is off. */
static __always_inline const struct kpl_probe *
kpl_frame_begin(struct kpl_frame *frame, const struct kpl_stub *stub, unsigned long behind,
		bool many)
{
	if (!many)
		return stub->owner;
	frame->probe = kpl_table_find(stub->owner, behind);
	return frame->probe;
}

/*
 * As with ftrace, no kprobe layer stands before this: whatever is called before
 * the guard is taken must not be traceable, so the guard comes before `when`.
 */
static __always_inline u64 kpl_run_entered(const struct kpl_probe *pr, struct kpl_frame *frame,
					   enum kpl_looks looks, bool many)
{
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 result = KPL_RET_SKIP;

	if (kpl_over(pr) || !kpl_begin(ctx, pr, KPL_SIDE_FIRST))
		return result;
	if (looks == KPL_LOOKS_AT_ALL) {
		if (pr->when.mask && kpl_skipped(pr))
			goto out;
		result = KPL_RET_DONE;
		if (!pr->handler[KPL_SIDE_FIRST].run) {
			kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
			goto out;
		}
		kpl_frame_fill(frame, many);
		instruction_pointer_set(&frame->regs, kpl_kprobe_ip(pr->site));
		kpl_look(ctx, &pr->origin);
		ctx->hit.ret_addr = kpl_return_address(&frame->regs);
	}
	kpl_look_at_call(ctx, (unsigned long)frame->data, &frame->regs, looks);
	result = kpl_run(ctx, &pr->handler[KPL_SIDE_FIRST]);
	if (likely(result == KPL_RET_DONE))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
	else
		kpl_entry_ended(pr, result);
out:
	kpl_end();
	return result;
}

static __always_inline void kpl_enter(struct kpl_frame *frame, const struct kpl_stub *stub,
				      unsigned long behind, enum kpl_looks looks, bool many)
{
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	pr = kpl_frame_begin(frame, stub, behind, many);
	if ((many && !pr) || unlikely(kpl_run_entered(pr, frame, looks, many) != KPL_RET_DONE) ||
	    (many && !pr->handler[KPL_SIDE_SECOND].run))
		kpl_frame_decline(frame);
	preempt_enable_notrace();
}

static __always_inline void kpl_run_left(const struct kpl_probe *pr, struct kpl_frame *frame,
					 enum kpl_looks looks, bool adds, bool many)
{
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 result;

	if (kpl_over(pr)) {
		kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_SKIPPED);
		return;
	}
	if (adds) {
		if (likely(!ctx->origin))
			kpl_add(pr, ctx, KPL_SIDE_SECOND);
		else
			kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_MISSED);
		return;
	}
	if (!kpl_begin(ctx, pr, KPL_SIDE_SECOND))
		return;
	kpl_look_at_call(ctx, (unsigned long)frame->data, &frame->regs, looks);
	if (looks == KPL_LOOKS_AT_ALL) {
		kpl_frame_fill(frame, many);
		kpl_look(ctx, &pr->origin);
		ctx->hit.ret = regs_return_value(&frame->regs);
		ctx->hit.ret_addr = kpl_return_address(&frame->regs);
		instruction_pointer_set(&frame->regs, ctx->hit.ret_addr);
		frame->regs.sp += sizeof(long);
	}
	result = kpl_run(ctx, &pr->handler[KPL_SIDE_SECOND]);
	if (likely(result == KPL_RET_DONE))
		kpl_count(&pr->origin, KPL_SIDE_SECOND, KPL_C_HANDLED);
	else
		kpl_return_ended(pr, result);
	kpl_end();
}

/* Of a stub of many, one function may have been detached, and its probe be there still. */
static __always_inline void kpl_exit(struct kpl_frame *frame, const struct kpl_stub *stub,
				     enum kpl_looks looks, bool adds, bool many)
{
	const struct kpl_probe *pr;

	preempt_disable_notrace();
	/* First of all: before, nothing in the frame is known to be there still. */
	if (likely(frame->call == READ_ONCE(stub->call))) {
		pr = many ? frame->probe : stub->owner;
		if (!many || likely(data_race(pr->added)))
			kpl_run_left(pr, frame, looks, adds, many);
	}
	preempt_enable_notrace();
}

/* Without an entry handler: the call is counted, which needs no guard. */
static void kpl_enter_count_one(struct kpl_frame *frame, const struct kpl_stub *stub,
				unsigned long behind)
{
	this_cpu_inc(*stub->count);
}

static void kpl_enter_count_many(struct kpl_frame *frame, const struct kpl_stub *stub,
				 unsigned long behind)
{
	const struct kpl_probe *pr = kpl_frame_begin(frame, stub, behind, true);

	if (likely(pr))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
	else
		kpl_frame_decline(frame);
}

/* A function for each side, for how much its handler looks at, and for each kind of stub. */
#define KPL_STUB_HITS(name, looks, many)						\
	static void kpl_enter_##name(struct kpl_frame *frame, const struct kpl_stub *stub,	\
				     unsigned long behind)				\
	{										\
		kpl_enter(frame, stub, behind, looks, many);				\
	}										\
	static void kpl_exit_##name(struct kpl_frame *frame, const struct kpl_stub *stub)	\
	{										\
		kpl_exit(frame, stub, looks, false, many);				\
	}

KPL_STUB_HITS(plain_one, KPL_LOOKS_NOWHERE, false)
KPL_STUB_HITS(call_one, KPL_LOOKS_AT_CALL, false)
KPL_STUB_HITS(all_one, KPL_LOOKS_AT_ALL, false)
KPL_STUB_HITS(plain_many, KPL_LOOKS_NOWHERE, true)
KPL_STUB_HITS(call_many, KPL_LOOKS_AT_CALL, true)
KPL_STUB_HITS(all_many, KPL_LOOKS_AT_ALL, true)

static void kpl_exit_adds_one(struct kpl_frame *frame, const struct kpl_stub *stub)
{
	kpl_exit(frame, stub, KPL_LOOKS_NOWHERE, true, false);
}

static void kpl_exit_adds_many(struct kpl_frame *frame, const struct kpl_stub *stub)
{
	kpl_exit(frame, stub, KPL_LOOKS_NOWHERE, true, true);
}

/* At how much the handlers of one side look; a register that no stub keeps is all of it. */
static enum kpl_looks kpl_stub_looks(struct kpl_probe *const *prs, u32 nr, enum kpl_side side)
{
	u64 there = side == KPL_SIDE_FIRST ? KPL_CALL_REGS : KPL_RETURN_REGS;
	enum kpl_looks looks = KPL_LOOKS_NOWHERE;
	u32 i;

	for (i = 0; i < nr; i++) {
		const struct kpl_prog *prog = prs[i]->handler[side].prog;

		if (!prog)
			continue;
		if (prog->regs_read & ~there)
			return KPL_LOOKS_AT_ALL;
		looks = max(looks, prog->looks);
	}
	return looks;
}

kpl_enter_fn *kpl_enter_for(struct kpl_probe *const *prs, u32 nr, bool of_many)
{
	static kpl_enter_fn *const one[] = {
		[KPL_LOOKS_NOWHERE] = kpl_enter_plain_one,
		[KPL_LOOKS_AT_CALL] = kpl_enter_call_one,
		[KPL_LOOKS_AT_ALL] = kpl_enter_all_one,
	};
	static kpl_enter_fn *const many[] = {
		[KPL_LOOKS_NOWHERE] = kpl_enter_plain_many,
		[KPL_LOOKS_AT_CALL] = kpl_enter_call_many,
		[KPL_LOOKS_AT_ALL] = kpl_enter_all_many,
	};
	bool all = false, none = true, some = false;
	enum kpl_looks looks;
	u32 i;

	for (i = 0; i < nr; i++) {
		some |= !prs[i]->handler[KPL_SIDE_FIRST].run;
		none &= !prs[i]->handler[KPL_SIDE_FIRST].run;
		all |= prs[i]->when.mask;
	}
	if (none && !all)
		return of_many ? kpl_enter_count_many : kpl_enter_count_one;
	looks = all || some ? KPL_LOOKS_AT_ALL : kpl_stub_looks(prs, nr, KPL_SIDE_FIRST);
	return of_many ? many[looks] : one[looks];
}

/* Of many that have no return handler, each call is declined. */
kpl_exit_fn *kpl_exit_for(struct kpl_probe *const *prs, u32 nr, bool of_many)
{
	static kpl_exit_fn *const one[] = {
		[KPL_LOOKS_NOWHERE] = kpl_exit_plain_one,
		[KPL_LOOKS_AT_CALL] = kpl_exit_call_one,
		[KPL_LOOKS_AT_ALL] = kpl_exit_all_one,
	};
	static kpl_exit_fn *const many[] = {
		[KPL_LOOKS_NOWHERE] = kpl_exit_plain_many,
		[KPL_LOOKS_AT_CALL] = kpl_exit_call_many,
		[KPL_LOOKS_AT_ALL] = kpl_exit_all_many,
	};
	enum kpl_looks looks = kpl_stub_looks(prs, nr, KPL_SIDE_SECOND);
	bool adds = true;
	u32 i;

	if (!of_many && !prs[0]->handler[KPL_SIDE_SECOND].run)
		return NULL;
	for (i = 0; i < nr; i++)
		adds &= !!prs[i]->handler[KPL_SIDE_SECOND].adds.value;
	if (adds)
		return of_many ? kpl_exit_adds_many : kpl_exit_adds_one;
	return of_many ? many[looks] : one[looks];
}
#endif
