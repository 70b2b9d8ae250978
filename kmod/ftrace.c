// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Entry probes by an ftrace_ops of our own.  Not there yet: user space sees
 * that KPL_FEATURE_FTRACE is missing and takes kprobes.
 */
#include "probe.h"

u64 kpl_ftrace_feature(void)
{
	return 0;
}

static void kpl_ftrace_refuse(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		prs[i]->error = -EOPNOTSUPP;
}

/* None is ever added: nothing else is called. */
const struct kpl_probe_ops kpl_ftrace_ops = {
	.kinds = { KPL_PROG_PRE, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_ftrace_refuse,
};
