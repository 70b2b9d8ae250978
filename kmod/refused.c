// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel asks nobody before it refuses something: what its own interfaces
 * return to others is seen by return probes, which are there only as long as it
 * may be our doing.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>

#include "compat.h"
#include "refused.h"

static atomic64_t kpl_refused_nr;

/* None of them calls another one. */
static const struct {
	void *addr;
	const char *symbol;	/* of what is not exported, and is called by its address */
	int err;
	bool event;		/* of a struct perf_event: its first argument */
} kpl_refusers[] = {
#ifdef KPL_TRACES
	{ register_ftrace_function, NULL, -EBUSY },	/* livepatch, a kprobe's post handler */
	{ ftrace_set_filter_ip, NULL, -EBUSY },		/* the next post handlers */
	{ NULL, "ftrace_enable_sysctl", -EBUSY },	/* kernel.ftrace_enabled=0 */
#endif
#ifdef KPL_DIRECT_CALLS
	{ KPL_REGISTER_DIRECT, NULL, -EBUSY },		/* BPF's fentry and fexit */
#endif
#ifdef CONFIG_HAVE_HW_BREAKPOINT
	{ NULL, "hw_breakpoint_event_init", -ENOSPC, true },
#endif
	{ }
};

#define KPL_REFUSERS	(ARRAY_SIZE(kpl_refusers) - 1)

static DEFINE_MUTEX(kpl_refused_lock);
static struct kretprobe kpl_refused_probes[ARRAY_SIZE(kpl_refusers)];
static struct kretprobe *kpl_refused_list[ARRAY_SIZE(kpl_refusers)];
static u32 kpl_refused_users, kpl_refused_on;

static u32 kpl_refuser_of(const struct kretprobe_instance *ri)
{
	return get_kretprobe((struct kretprobe_instance *)ri) - kpl_refused_probes;
}

/* Any context.  1: an event of our own. */
static int kpl_refused_call(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct perf_event *event = (void *)regs_get_kernel_argument(regs, 0);

	return kpl_refusers[kpl_refuser_of(ri)].event &&
	       within_module((unsigned long)event->overflow_handler, THIS_MODULE);
}

static int kpl_refused_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if ((int)regs_return_value(regs) == kpl_refusers[kpl_refuser_of(ri)].err &&
	    !within_module(get_kretprobe_retaddr(ri), THIS_MODULE))
		atomic64_inc(&kpl_refused_nr);
	return 0;
}

/* Where that fails, nothing is counted. */
static void kpl_refused_arm(void)
{
	u32 i;

	kpl_refused_on = 0;
	for (i = 0; i < KPL_REFUSERS; i++) {
		kpl_refused_probes[i] = (struct kretprobe) {
			.kp.addr = kpl_refusers[i].addr,
			.kp.symbol_name = kpl_refusers[i].symbol,
			.entry_handler = kpl_refused_call,
			.handler = kpl_refused_return,
		};
		if (!register_kretprobe(&kpl_refused_probes[i]))
			kpl_refused_list[kpl_refused_on++] = &kpl_refused_probes[i];
	}
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
	if (!--kpl_refused_users)
		unregister_kretprobes(kpl_refused_list, kpl_refused_on);
	mutex_unlock(&kpl_refused_lock);
}

u64 kpl_refused(void)
{
	return atomic64_read(&kpl_refused_nr);
}
