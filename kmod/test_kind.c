// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A kind of probe for tests: it hits once each time it is armed.  Process context. */
#include "common.h"
#include "handle.h"
#include "test_kind.h"

static int kpl_test_kind_add_one(struct kpl_probe *pr)
{
	return 0;
}

static void kpl_test_kind_add(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_test_kind_add_one);
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

const struct kpl_probe_ops kpl_test_kind_ops = {
	.kind = KPL_PROBE_TEST,
	.kinds = { KPL_PROG_PRE, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_test_kind_add,
	.run[KPL_OP_ARM] = kpl_test_kind_arm,
	.run[KPL_OP_DISARM] = kpl_test_kind_disarm,
	.run[KPL_OP_REMOVE] = kpl_test_kind_remove,
	.state = kpl_plain_state,
	.stats = kpl_hit_stats,
};
