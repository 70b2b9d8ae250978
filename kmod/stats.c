// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What became of the hits of a probe.  Process context. */
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/args.h"
#include "kind.h"
#include "overload.h"
#include "session.h"
#include "stats.h"

u64 kpl_counter_read(const struct kpl_origin *origin, enum kpl_side side, enum kpl_count counter)
{
	u64 sum = 0;
	u32 cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(origin->outcomes, cpu)->side[side].n[counter]);
	return sum;
}

/* A hit is what ended in one way or another: the sum is exact at any moment. */
void kpl_counts_read(const struct kpl_origin *origin, enum kpl_side side, struct kpl_counts *out)
{
	out->handled = kpl_counter_read(origin, side, KPL_C_HANDLED);
	out->skipped = kpl_counter_read(origin, side, KPL_C_SKIPPED);
	out->missed = kpl_counter_read(origin, side, KPL_C_MISSED);
	out->faults = kpl_counter_read(origin, side, KPL_C_FAULT);
	out->errors = kpl_counter_read(origin, side, KPL_C_ERROR);
	out->overruns = kpl_counter_read(origin, side, KPL_C_OVERRUN);
	out->hits = out->handled + out->skipped + out->missed + out->faults + out->errors +
		    out->overruns;
}

static void kpl_probe_stats_read(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	u32 side;

	out->state = pr->added ? pr->ops->state(pr) : KPL_STATE_DETACHED;
	/* Before what it says. */
	if (smp_load_acquire(&pr->origin.overload) == KPL_OVERLOAD_TOLD) {
		if (pr->added && out->state != KPL_STATE_GONE)
			out->state = KPL_STATE_OVERLOAD;
		out->overload_cpu = pr->origin.overload_cpu;
		out->overload_percent = pr->origin.overload_percent;
	}
	pr->ops->stats(pr, out);
	for (side = 0; side < KPL_SIDES; side++)
		out->truncated += kpl_counter_read(&pr->origin, side, KPL_C_TRUNCATED);
}

#define KPL_STATS_AT_ONCE	64	/* copied, read under the lock, copied back */

static int kpl_stats_read(struct kpl_session *s, struct kpl_probe_stats *stats, u32 nr)
{
	int err = kpl_session_lock(s);
	u32 i;

	if (err)
		return err;
	for (i = 0; !err && i < nr; i++) {
		struct kpl_probe *pr = xa_load(&s->probes, stats[i].id);

		stats[i] = (struct kpl_probe_stats) { .id = stats[i].id };
		if (pr)
			kpl_probe_stats_read(pr, &stats[i]);
		else
			err = -EINVAL;
	}
	kpl_session_unlock(s);
	return err;
}

int kpl_stats(struct kpl_session *s, struct kpl_stats *arg)
{
	struct kpl_probe_stats __user *user = u64_to_user_ptr(arg->stats);
	struct kpl_probe_stats *stats;
	int err = kpl_check_stats(arg);
	u32 at, nr;

	if (err)
		return err;
	stats = kvmalloc_array(KPL_STATS_AT_ONCE, sizeof(*stats), KPL_GFP);
	if (!stats)
		return -ENOMEM;
	for (at = 0; !err && at < arg->nr; at += nr) {
		nr = min_t(u32, arg->nr - at, KPL_STATS_AT_ONCE);
		if (copy_from_user(stats, user + at, nr * sizeof(*stats)))
			err = -EFAULT;
		else
			err = kpl_stats_read(s, stats, nr);
		if (!err && copy_to_user(user + at, stats, nr * sizeof(*stats)))
			err = -EFAULT;
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
		cond_resched_tasks_rcu_qs();
	}
	kvfree(stats);
	return err;
}
