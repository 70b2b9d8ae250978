// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What became of the hits of a probe.  Process context, the session's lock held. */
#include <linux/percpu.h>
#include <linux/uaccess.h>

#include "probe.h"

u64 kpl_counter_read(struct kpl_probe *pr, enum kpl_side side, enum kpl_count counter)
{
	u64 sum = 0;
	u32 cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(pr->outcomes, cpu)->side[side].n[counter]);
	return sum;
}

/* A hit is what ended in one way or another: the sum is exact at any moment. */
void kpl_counts_read(struct kpl_probe *pr, enum kpl_side side, struct kpl_counts *out)
{
	out->handled = kpl_counter_read(pr, side, KPL_C_HANDLED);
	out->skipped = kpl_counter_read(pr, side, KPL_C_SKIPPED);
	out->missed = kpl_counter_read(pr, side, KPL_C_MISSED);
	out->faults = kpl_counter_read(pr, side, KPL_C_FAULT);
	out->errors = kpl_counter_read(pr, side, KPL_C_ERROR);
	out->overruns = kpl_counter_read(pr, side, KPL_C_OVERRUN);
	out->hits = out->handled + out->skipped + out->missed + out->faults + out->errors +
		    out->overruns;
}

static void kpl_probe_stats_read(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	u32 side;

	out->state = pr->added ? pr->ops->state(pr) : KPL_STATE_DETACHED;
	pr->ops->stats(pr, out);
	for (side = 0; side < KPL_SIDES; side++)
		out->truncated += kpl_counter_read(pr, side, KPL_C_TRUNCATED);
}

int kpl_stats(struct kpl_session *s, struct kpl_stats *arg)
{
	struct kpl_probe_stats __user *user = u64_to_user_ptr(arg->stats);
	u32 i;

	if (arg->reserved)
		return -EINVAL;
	for (i = 0; i < arg->nr; i++) {
		struct kpl_probe_stats stats = {};
		struct kpl_probe *pr;

		if (get_user(stats.id, &user[i].id))
			return -EFAULT;
		pr = xa_load(&s->probes, stats.id);
		if (!pr)
			return -EINVAL;
		kpl_probe_stats_read(pr, &stats);
		if (copy_to_user(&user[i], &stats, sizeof(stats)))
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}
