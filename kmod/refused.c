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
#include "guard.h"
#include "refused.h"

static atomic64_t kpl_refused_nr;

/* None of them calls another one. */
static struct kpl_refuser {
	enum kpl_refusal what;
	int err;
	void *addr;
	const char *symbol;	/* of what is not exported, and is called by its address */
	struct kretprobe rp;
	bool on;
	bool stuck;		/* the kernel can't disarm it, and keeps it for good */
} kpl_refusers[] = {
#ifdef KPL_TRACES
	/* livepatch, a kprobe's post handler */
	{ KPL_REFUSED_FUNCTIONS, -EBUSY, register_ftrace_function },
	/* the next post handlers */
	{ KPL_REFUSED_FUNCTIONS, -EBUSY, ftrace_set_filter_ip },
	/* kernel.ftrace_enabled=0 */
	{ KPL_REFUSED_FUNCTIONS, -EBUSY, NULL, "ftrace_enable_sysctl" },
#endif
#ifdef KPL_DIRECT_CALLS
	/* BPF's fentry and fexit */
	{ KPL_REFUSED_FUNCTIONS, -EBUSY, KPL_REGISTER_DIRECT },
#endif
	/* of a struct perf_event, its argument */
	{ KPL_REFUSED_WATCHPOINTS, -ENOSPC, NULL, "hw_breakpoint_event_init" },
};

/* At once; the kernel's own rule takes memory by the square of the CPUs. */
#define KPL_REFUSED_CALLS	32

static DEFINE_MUTEX(kpl_refused_lock);
static u32 kpl_refused_users[KPL_REFUSALS];

/* NULL: it goes. */
static const struct kpl_refuser *kpl_refuser_of(struct kretprobe_instance *ri)
{
	const struct kretprobe *rp = get_kretprobe(ri);

	return kpl_rp_is_gone(rp) ? NULL : container_of(rp, struct kpl_refuser, rp);
}

/* Any context.  1: an event of our own. */
static int kpl_refused_call(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct perf_event *event = (void *)regs_get_kernel_argument(regs, 0);
	const struct kpl_refuser *refuser = kpl_refuser_of(ri);

	return refuser && refuser->what == KPL_REFUSED_WATCHPOINTS &&
	       within_module((unsigned long)event->overflow_handler, THIS_MODULE);
}

static int kpl_refused_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct kpl_refuser *refuser = kpl_refuser_of(ri);

	if (refuser && (int)regs_return_value(regs) == refuser->err &&
	    READ_ONCE(kpl_refused_users[refuser->what]) &&
	    !within_module(get_kretprobe_retaddr(ri), THIS_MODULE))
		atomic64_inc(&kpl_refused_nr);
	return 0;
}

/* Where that fails, nothing is counted, and the log says so. */
static void kpl_refuser_arm(struct kpl_refuser *refuser)
{
	int err;

	refuser->rp = (struct kretprobe) {
		.kp.addr = refuser->addr,
		.kp.symbol_name = refuser->symbol,
		.entry_handler = kpl_refused_call,
		.handler = kpl_refused_return,
		.maxactive = KPL_REFUSED_CALLS,
	};
	err = register_kretprobe(&refuser->rp);
	if (err)
		pr_notice_once("kprobe_lua: some refusals to others are not counted (%d)\n", err);
	refuser->on = !err;
}

/* As with other kprobes (kprobe.c): what can't be disarmed stays, and we with it. */
static bool kpl_refuser_off(struct kpl_refuser *refuser)
{
	refuser->stuck = disable_kprobe(&refuser->rp.kp);
	if (refuser->stuck) {
		__module_get(THIS_MODULE);
		pr_err("kprobe_lua: the kernel can't disarm the kprobe at %pS, staying\n",
		       refuser->rp.kp.addr);
	}
	refuser->on = refuser->stuck;
	return !refuser->stuck;
}

void kpl_refused_hold(enum kpl_refusal what)
{
	u32 i;

	mutex_lock(&kpl_refused_lock);
	for (i = 0; !kpl_refused_users[what] && i < ARRAY_SIZE(kpl_refusers); i++)
		if (kpl_refusers[i].what == what && !kpl_refusers[i].stuck)
			kpl_refuser_arm(&kpl_refusers[i]);
	WRITE_ONCE(kpl_refused_users[what], kpl_refused_users[what] + 1);
	mutex_unlock(&kpl_refused_lock);
}

void kpl_refused_release(enum kpl_refusal what)
{
	struct kretprobe *off[ARRAY_SIZE(kpl_refusers)];
	u32 i, nr = 0;

	mutex_lock(&kpl_refused_lock);
	WRITE_ONCE(kpl_refused_users[what], kpl_refused_users[what] - 1);
	for (i = 0; !kpl_refused_users[what] && i < ARRAY_SIZE(kpl_refusers); i++) {
		struct kpl_refuser *refuser = &kpl_refusers[i];

		if (refuser->what == what && refuser->on && !refuser->stuck &&
		    kpl_refuser_off(refuser))
			off[nr++] = &refuser->rp;
	}
	if (nr)
		kpl_hits_drain();	/* as kpl_kprobes_leave() does */
	unregister_kretprobes(off, nr);
	mutex_unlock(&kpl_refused_lock);
}

u64 kpl_refused(void)
{
	return atomic64_read(&kpl_refused_nr);
}
