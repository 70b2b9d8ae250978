// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/sched.h>

#include "common.h"
#include "stats.h"

void kpl_add_each(struct kpl_probe **prs, u32 nr, int (*add)(struct kpl_probe *pr))
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = add(prs[i]);
		prs[i]->added = !prs[i]->error;
		kpl_step(prs[i]);
		cond_resched_tasks_rcu_qs();
	}
}

void kpl_add_none(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		prs[i]->error = -EOPNOTSUPP;
}

enum kpl_probe_state kpl_plain_state(struct kpl_probe *pr)
{
	if (READ_ONCE(pr->gone))
		return KPL_STATE_GONE;
	return READ_ONCE(pr->armed) ? KPL_STATE_ARMED : KPL_STATE_DISABLED;
}

void kpl_hit_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	kpl_counts_read(&pr->origin, KPL_SIDE_FIRST, &out->entry);
}

/* The return is read first: it never seems to be ahead of the entry. */
void kpl_call_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	struct kpl_counts *entry = &out->entry;

	kpl_counts_read(&pr->origin, KPL_SIDE_SECOND, &out->ret);
	smp_rmb();	/* as above */
	out->declined = kpl_counter_read(&pr->origin, KPL_SIDE_FIRST, KPL_C_DECLINED);
	kpl_counts_read(&pr->origin, KPL_SIDE_FIRST, entry);
	out->dropped = entry->faults + entry->errors + entry->overruns;
}
