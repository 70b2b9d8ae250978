// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ftrace asks nobody before it refuses a function: what its own interface
 * returns to others is seen by return probes, which are there only as long as
 * it may be our doing.
 */
#include <linux/module.h>
#include <linux/mutex.h>

#include "refused.h"

#ifdef KPL_TRACES

static atomic64_t kpl_refused_nr;

/* Any context. */
static int kpl_refused_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if ((int)regs_return_value(regs) == -EBUSY &&
	    !within_module(get_kretprobe_retaddr(ri), THIS_MODULE))
		atomic64_inc(&kpl_refused_nr);
	return 0;
}

/* None of them calls another one. */
static void *const kpl_refusers[] = {
	register_ftrace_function,	/* livepatch, the first post handler of a kprobe */
	ftrace_set_filter_ip,		/* the next ones */
#ifdef KPL_DIRECT_CALLS
	KPL_REGISTER_DIRECT,		/* BPF's fentry and fexit */
#endif
};

static DEFINE_MUTEX(kpl_refused_lock);
static struct kretprobe kpl_refused_probes[ARRAY_SIZE(kpl_refusers)];
static struct kretprobe *kpl_refused_list[ARRAY_SIZE(kpl_refusers)];
static u32 kpl_refused_users;
static bool kpl_refused_on;

/* Where that fails, nothing is counted. */
static void kpl_refused_arm(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kpl_refusers); i++) {
		kpl_refused_probes[i] = (struct kretprobe) {
			.kp.addr = kpl_refusers[i],
			.handler = kpl_refused_return,
		};
		kpl_refused_list[i] = &kpl_refused_probes[i];
	}
	kpl_refused_on = !register_kretprobes(kpl_refused_list, ARRAY_SIZE(kpl_refused_list));
}

void kpl_refused_hold(void)
{
	mutex_lock(&kpl_refused_lock);
	if (!kpl_refused_users++)
		kpl_refused_arm();
	mutex_unlock(&kpl_refused_lock);
}

void kpl_refused_release(void)
{
	mutex_lock(&kpl_refused_lock);
	if (!--kpl_refused_users && kpl_refused_on)
		unregister_kretprobes(kpl_refused_list, ARRAY_SIZE(kpl_refused_list));
	mutex_unlock(&kpl_refused_lock);
}

u64 kpl_refused(void)
{
	return atomic64_read(&kpl_refused_nr);
}

#endif
