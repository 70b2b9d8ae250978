// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The hit path: from the kernel's call to the handler's end.  Any context but
 * that of user mode, preemption off; no lock, no allocation, nothing that may
 * sleep.  What a hit costs is measured in instructions: keep it short.
 */
#include <linux/cgroup.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "compat.h"
#include "hit.h"
#include "probe.h"
#include "prog.h"

DEFINE_PER_CPU(struct kpl_ctx, kpl_ctx) ____cacheline_aligned;
kprobe_pre_handler_t kpl_hook_return;

void kpl_hit_init(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		per_cpu(kpl_ctx, cpu).hit.cpu = cpu;
}

void kpl_hits_drain(void)
{
	synchronize_rcu();
	kick_all_cpus_sync();
}

struct kpl_ctx *kpl_guard_get(void)
{
	struct kpl_ctx *ctx;

	preempt_disable();
	ctx = this_cpu_ptr(&kpl_ctx);
	WRITE_ONCE(ctx->busy, 1);
	barrier();
	return ctx;
}

void kpl_guard_put(struct kpl_ctx *ctx)
{
	barrier();
	WRITE_ONCE(ctx->busy, 0);
	preempt_enable();
}

/* ------------------------------------------------------------------ counting */

#define kpl_count(pr, which_side, counter) \
	this_cpu_inc((pr)->outcomes->side[which_side].n[counter])

static noinline void kpl_count_cold(const struct kpl_probe *pr, enum kpl_side side,
				    enum kpl_count counter)
{
	kpl_count(pr, side, counter);
}

/* ------------------------------------------------------------------- filter */

static noinline bool kpl_when_fails(const struct kpl_when *when)
{
	u32 mask = when->mask;

	if (mask & KPL_WHEN_PID && current->tgid != when->pid)
		return true;
	if (mask & KPL_WHEN_TID && current->pid != when->tid)
		return true;
	if (mask & KPL_WHEN_CPU && smp_processor_id() != when->cpu)
		return true;
	if (mask & KPL_WHEN_COMM && strncmp(current->comm, when->comm, sizeof(when->comm)))
		return true;
#ifdef CONFIG_CGROUPS
	if (mask & KPL_WHEN_CGROUP && cgroup_id(task_dfl_cgroup(current)) != when->cgroup)
		return true;
#endif
	return false;
}

/* After exit() nothing is delivered, nor counted. */
static __always_inline bool kpl_refused(const struct kpl_probe *pr)
{
	if (unlikely(READ_ONCE(pr->session->exiting)))
		return true;
	if (likely(!pr->when.mask) || !kpl_when_fails(&pr->when))
		return false;
	kpl_count_cold(pr, KPL_SIDE_FIRST, KPL_C_SKIPPED);
	return true;
}

/* -------------------------------------------------------------------- running */

static __always_inline void kpl_prepare(struct kpl_ctx *ctx, const struct kpl_probe *pr,
					struct pt_regs *regs)
{
	ctx->probe = pr;
	ctx->hit.regs = (unsigned long)regs;
	ctx->hit.scratch = (unsigned long)this_cpu_read(pr->session->cpu->scratch);
	ctx->hit.func = pr->func;
	ctx->hit.addr = pr->addr;
	ctx->hit.bad_addr = 0;
	ctx->hit.status = 0;
}

void kpl_hit_prepare(struct kpl_ctx *ctx, const struct kpl_probe *pr, struct pt_regs *regs)
{
	kpl_prepare(ctx, pr, regs);
}

/* The guard, or NULL and the hit is counted as missed. */
static __always_inline struct kpl_ctx *kpl_begin(const struct kpl_probe *pr, enum kpl_side side,
						 struct pt_regs *regs)
{
	struct kpl_ctx *ctx = this_cpu_ptr(&kpl_ctx);

	if (unlikely(READ_ONCE(ctx->busy))) {
		kpl_count_cold(pr, side, KPL_C_MISSED);
		return NULL;
	}
	WRITE_ONCE(ctx->busy, 1);
	barrier();
	kpl_prepare(ctx, pr, regs);
	return ctx;
}

static __always_inline void kpl_end(struct kpl_ctx *ctx)
{
	barrier();
	WRITE_ONCE(ctx->busy, 0);
}

/* A kprobe's handler stopped: the fault handler, if there is one, runs instead. */
static noinline void kpl_stopped(struct kpl_ctx *ctx, const struct kpl_probe *pr,
				 enum kpl_side side, u64 result)
{
	enum kpl_count counter = kpl_stop(ctx, pr->prog[side], result);
	const struct kpl_prog *fault = pr->prog[KPL_HANDLER_FAULT];

	kpl_count(pr, side, counter);
	if (counter != KPL_C_FAULT || !fault)
		return;
	ctx->hit.status = 0;
	result = kpl_prog_call(fault, ctx);
	if (result != KPL_RET_DONE)
		kpl_stop(ctx, fault, result);
}

static __always_inline void kpl_handle(const struct kpl_probe *pr, enum kpl_side side,
				       struct pt_regs *regs)
{
	struct kpl_ctx *ctx;
	u64 result;

	if (kpl_refused(pr))
		return;
	ctx = kpl_begin(pr, side, regs);
	if (!ctx)
		return;
	result = kpl_prog_call(pr->prog[side], ctx);
	if (likely(result == KPL_RET_DONE))
		kpl_count(pr, side, KPL_C_HANDLED);
	else
		kpl_stopped(ctx, pr, side, result);
	kpl_end(ctx);
}

/* -------------------------------------------------------------------- kprobes */

int kpl_hit_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kpl_handle(container_of(kp, struct kpl_probe, rp.kp), KPL_SIDE_FIRST, regs);
	return 0;
}

void kpl_hit_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kpl_handle(container_of(kp, struct kpl_probe, rp.kp), KPL_SIDE_SECOND, regs);
}

/* ----------------------------------------------------------------- kretprobes */

/*
 * A function with a return probe is entered: stands before the kernel's own
 * handler, which counts a missing instance without care for other CPUs.  It
 * shows in the list of return instances, or by the entry handler, that it had
 * one.
 */
int kpl_hit_call(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kpl_probe *pr = container_of(kp, struct kpl_probe, rp.kp);
	struct kpl_ctx *ctx = this_cpu_ptr(&kpl_ctx);
	const void *top;

	if (kpl_refused(pr))
		return 0;
	if (pr->prog[KPL_SIDE_FIRST]) {
		ctx->entered = 0;
		kpl_hook_return(kp, regs);
		if (unlikely(!READ_ONCE(ctx->entered)))
			kpl_count_cold(pr, KPL_SIDE_FIRST, KPL_C_MISSED);
		return 0;
	}
	top = kpl_top_return();
	kpl_hook_return(kp, regs);
	if (likely(top != kpl_top_return()))
		kpl_count(pr, KPL_SIDE_FIRST, KPL_C_HANDLED);
	else
		kpl_count_cold(pr, KPL_SIDE_FIRST, KPL_C_MISSED);
	return 0;
}

/* Non-zero: no return handler for this call. */
static noinline int kpl_entry_ended(struct kpl_ctx *ctx, const struct kpl_probe *pr, u64 result)
{
	enum kpl_count counter = kpl_stop(ctx, pr->prog[KPL_SIDE_FIRST], result);

	kpl_count(pr, KPL_SIDE_FIRST, counter);
	if (counter == KPL_C_DECLINED)
		kpl_count(pr, KPL_SIDE_FIRST, KPL_C_HANDLED);
	return 1;
}

int kpl_hit_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct kpl_probe *pr = container_of(get_kretprobe(ri), struct kpl_probe, rp);
	struct kpl_ctx *ctx;
	int drop;
	u64 result;

	this_cpu_write(kpl_ctx.entered, 1);
	ctx = kpl_begin(pr, KPL_SIDE_FIRST, regs);
	if (!ctx)
		return 1;
	ctx->hit.data = (unsigned long)ri->data;
	ctx->hit.ret_addr = kpl_return_address(regs);
	result = kpl_prog_call(pr->prog[KPL_SIDE_FIRST], ctx);
	if (likely(result == KPL_RET_DONE)) {
		kpl_count(pr, KPL_SIDE_FIRST, KPL_C_HANDLED);
		drop = 0;
	} else {
		drop = kpl_entry_ended(ctx, pr, result);
	}
	kpl_end(ctx);
	/* Without a return handler there is nothing to hook. */
	return drop || !pr->prog[KPL_SIDE_SECOND];
}

int kpl_hit_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct kpl_probe *pr = container_of(get_kretprobe(ri), struct kpl_probe, rp);
	struct kpl_ctx *ctx;
	u64 result;

	if (unlikely(READ_ONCE(pr->session->exiting)))
		return 0;
	ctx = kpl_begin(pr, KPL_SIDE_SECOND, regs);
	if (!ctx)
		return 0;
	ctx->hit.data = (unsigned long)ri->data;
	ctx->hit.ret = regs_return_value(regs);
	ctx->hit.ret_addr = instruction_pointer(regs);
	result = kpl_prog_call(pr->prog[KPL_SIDE_SECOND], ctx);
	if (likely(result == KPL_RET_DONE))
		kpl_count(pr, KPL_SIDE_SECOND, KPL_C_HANDLED);
	else
		kpl_count(pr, KPL_SIDE_SECOND, kpl_stop(ctx, pr->prog[KPL_SIDE_SECOND], result));
	kpl_end(ctx);
	return 0;
}
