// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A kind of probe for tests: it hits once each time it is armed.  Process context. */
#include "handle.h"
#include "stats.h"
#include "test_kind.h"

static void kpl_test_kind_add(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = 0;
		prs[i]->added = true;
		kpl_step(prs[i]);
	}
}

static void kpl_test_kind_arm(struct kpl_probe **prs, u32 nr)
{
	struct pt_regs regs = {};
	u32 i;

	for (i = 0; i < nr; i++) {
		instruction_pointer_set(&regs, prs[i]->origin.addr);
		prs[i]->error = 0;
		prs[i]->armed = true;
		preempt_disable();
		kpl_handle(prs[i], KPL_SIDE_FIRST, &regs);
		preempt_enable();
	}
}

static void kpl_test_kind_disarm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = 0;
		prs[i]->armed = false;
	}
}

static void kpl_test_kind_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		prs[i]->added = false;
}

static enum kpl_probe_state kpl_test_kind_state(struct kpl_probe *pr)
{
	return pr->armed ? KPL_STATE_ARMED : KPL_STATE_DISABLED;
}

static void kpl_test_kind_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	kpl_counts_read(&pr->origin, KPL_SIDE_FIRST, &out->entry);
}

const struct kpl_probe_ops kpl_test_kind_ops = {
	.kind = KPL_PROBE_TEST,
	.kinds = { KPL_PROG_PRE, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_test_kind_add,
	.run[KPL_OP_ARM] = kpl_test_kind_arm,
	.run[KPL_OP_DISARM] = kpl_test_kind_disarm,
	.run[KPL_OP_REMOVE] = kpl_test_kind_remove,
	.state = kpl_test_kind_state,
	.stats = kpl_test_kind_stats,
};
