// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A function that is called directly as long as the stubs' module is there, and
 * never called.  Without it, kernels that give their set of such functions by
 * value (register_ftrace_direct_multi) begin a new set with the first one and
 * wait for all tasks before they drop the empty one: tens of milliseconds of
 * each first return probe.  Process context.
 */
#include <linux/ftrace.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "kept.h"

#if defined(KPL_DIRECT_CALLS) && !defined(KPL_HAVE_FTRACE_DIRECT_OPS)

/* The one function of ours that has a site: see Kbuild. */
noinline void kpl_kept(void)
{
	barrier();
}

static struct ftrace_ops kpl_kept_ops;
static bool kpl_kept_on;

/* That wait, while nobody waits for it.  Where it fails, the others wait. */
static notrace void kpl_keep(struct work_struct *work)
{
	int err = ftrace_set_filter_ip(&kpl_kept_ops, (unsigned long)kpl_kept, 0, 1);

	if (!err)
		err = kpl_direct_on(&kpl_kept_ops, (unsigned long)kpl_kept_nothing);
	if (err)
		ftrace_free_filter(&kpl_kept_ops);
	kpl_kept_on = !err;
}

static DECLARE_WORK(kpl_keep_work, kpl_keep);

notrace void kpl_kept_init(void)
{
	schedule_work(&kpl_keep_work);
}

notrace void kpl_kept_exit(void)
{
	cancel_work_sync(&kpl_keep_work);
	if (kpl_kept_on)
		kpl_direct_off(&kpl_kept_ops, (unsigned long)kpl_kept_nothing);
}

#else

notrace void kpl_kept_init(void)
{
}

notrace void kpl_kept_exit(void)
{
}

#endif
