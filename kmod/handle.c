// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What is rare, or long, about running a handler.  Any context, preemption off. */
#include <linux/sched.h>

#include "handle.h"
#include "helpers.h"
#include "stop.h"

/* Not by strncmp(): that may be probed, and this runs before the guard is taken. */
static bool kpl_is_comm(const char *comm, const char *wanted)
{
	u32 i;

	for (i = 0; i < TASK_COMM_LEN && comm[i] == wanted[i]; i++)
		if (!comm[i])
			return true;
	return i == TASK_COMM_LEN;
}

noinline bool kpl_when_fails(const struct kpl_probe *pr)
{
	const struct kpl_when *when = &pr->when;
	u32 mask = when->mask;

	if (mask & KPL_WHEN_PID && current->tgid != when->pid)
		return true;
	if (mask & KPL_WHEN_TID && current->pid != when->tid)
		return true;
	if (mask & KPL_WHEN_CPU && smp_processor_id() != when->cpu)
		return true;
	if (mask & KPL_WHEN_COMM && !kpl_is_comm(current->comm, when->comm))
		return true;
	if (mask & KPL_WHEN_CGROUP && kpl_current_cgroup() != when->cgroup)
		return true;
	return mask & KPL_WHEN_OTHERS && kpl_is_opener(pr->origin.session);
}

noinline void kpl_add_timed(const struct kpl_probe *pr, enum kpl_side side)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	ctx->origin = &pr->origin;
	barrier();
	kpl_run_held(pr, ctx, side);
	kpl_end();
}

enum kpl_count kpl_ended(const struct kpl_ctx *ctx, const struct kpl_handler *handler, u64 result)
{
	return kpl_stop(ctx, handler->origin->session, handler->prog->sites, result);
}

void kpl_stopped(const struct kpl_probe *pr, enum kpl_side side, u64 result)
{
	const struct kpl_handler *fault = &pr->handler[KPL_HANDLER_FAULT];
	struct kpl_ctx *ctx = kpl_ctx_here();
	enum kpl_count counter = kpl_ended(ctx, &pr->handler[side], result);

	kpl_count(&pr->origin, side, counter);
	if (counter != KPL_C_FAULT || !fault->run)
		return;
	/* What the first one has not looked at, this one may. */
	if (pr->handler[side].looks != KPL_LOOKS_AT_ALL)
		kpl_look(ctx, &pr->origin);
	ctx->hit.status = 0;
	result = kpl_run_fault(&ctx->hit, fault);
	if (result != KPL_RET_DONE)
		kpl_ended(ctx, fault, result);
}
