// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Perf events of each CPU.  Process context, but for the hits.
 *
 * An event of a CPU ends with it, and a CPU that comes up has none.  What says
 * so is called with the hotplug lock held for writing, which creating and
 * releasing an event may want to read: a work item does it right after.
 *
 * A watchpoint on a module's data goes with it.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/hw_breakpoint.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "common.h"
#include "compat.h"
#include "event.h"
#include "going.h"
#include "handle.h"
#include "place.h"
#include "refused.h"
#include "session.h"

/* Of one CPU. */
struct kpl_event_of_cpu {
	struct perf_event *event;
	u32 life;		/* of the CPU, in which it was made */
};

struct kpl_events {
	struct list_head list;	/* of all */
	struct kpl_probe *pr;
	struct perf_event_attr attr;
	bool one_cpu;		/* the first that is up */
	perf_overflow_handler_t hit;
	struct kpl_event_of_cpu cpus[];	/* nr_cpu_ids */
};

/*
 * The kernel holds a mutex of its own, which making and releasing an event take, while it reads
 * what a user of perf_event_open(2) points to: that may be for ever.  Who only looks whether it is
 * concerned, as each module that is loaded does, takes the lock of the list, under which nobody
 * waits.  To change the list, both are held, kpl_events_lock first; to read it, one.
 */
static DEFINE_MUTEX(kpl_events_lock);
static DEFINE_MUTEX(kpl_events_list_lock);
static LIST_HEAD(kpl_events_all);

static struct cpumask kpl_cpus_up;
static u32 *kpl_cpu_lives;	/* how often each has come up */
static int kpl_cpu_state;

/* ------------------------------------------------------------------ the events */

static bool kpl_events_want(const struct kpl_events *es, u32 cpu)
{
	if (es->one_cpu)
		return cpu == cpumask_first(&kpl_cpus_up);
	return cpumask_test_cpu(cpu, &kpl_cpus_up);
}

static int kpl_events_make(struct kpl_events *es, u32 cpu)
{
	struct perf_event *event;

	es->cpus[cpu].life = READ_ONCE(kpl_cpu_lives[cpu]);
	event = perf_event_create_kernel_counter(&es->attr, cpu, NULL, es->hit, es->pr);
	/* The CPU goes just now, and the work item comes by again. */
	if (IS_ERR(event))
		return PTR_ERR(event) == -ENODEV ? 0 : PTR_ERR(event);
	if (READ_ONCE(event->state) == PERF_EVENT_STATE_ERROR) {
		/* Made, but there was no counter left for it. */
		perf_event_release_kernel(event);
		return -EBUSY;
	}
	es->cpus[cpu].event = event;
	return 0;
}

static void kpl_events_drop(struct kpl_events *es, u32 cpu)
{
	if (es->cpus[cpu].event)
		perf_event_release_kernel(es->cpus[cpu].event);
	es->cpus[cpu].event = NULL;
}

static void kpl_events_drop_all(struct kpl_events *es)
{
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		kpl_events_drop(es, cpu);
}

/* Makes what is missing, on each CPU that lets it; drops what is left over.  The last error. */
static int kpl_events_follow(struct kpl_events *es)
{
	u32 cpu;
	int err = 0;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		bool want = kpl_events_want(es, cpu);

		if (!want || es->cpus[cpu].life != READ_ONCE(kpl_cpu_lives[cpu]))
			kpl_events_drop(es, cpu);
		if (want && !es->cpus[cpu].event)
			err = kpl_events_make(es, cpu) ?: err;
	}
	return err;
}

/*
 * A CPU that has come or gone is no reason to fail: where no event can be made,
 * none is, and the log says so.
 */
static void kpl_cpus_changed(struct work_struct *work)
{
	struct kpl_events *es;

	mutex_lock(&kpl_events_lock);
	list_for_each_entry(es, &kpl_events_all, list) {
		int err = es->pr->armed ? kpl_events_follow(es) : 0;
		int pid = pid_nr(es->pr->origin.session->opener);

		if (err)
			pr_warn_ratelimited("kprobe_lua: process %d has no event on a CPU (%d)\n",
					    pid, err);
	}
	mutex_unlock(&kpl_events_lock);
}

static DECLARE_WORK(kpl_cpus_work, kpl_cpus_changed);

static int kpl_cpu_comes(unsigned int cpu)
{
	WRITE_ONCE(kpl_cpu_lives[cpu], kpl_cpu_lives[cpu] + 1);
	cpumask_set_cpu(cpu, &kpl_cpus_up);
	schedule_work(&kpl_cpus_work);
	return 0;
}

static int kpl_cpu_goes(unsigned int cpu)
{
	cpumask_clear_cpu(cpu, &kpl_cpus_up);
	schedule_work(&kpl_cpus_work);
	return 0;
}

static bool kpl_is_cpus_data_of(const struct module *mod, u64 addr)
{
#ifdef CONFIG_SMP
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (addr - (unsigned long)per_cpu_ptr(mod->percpu, cpu) < mod->percpu_size)
			return true;
#endif
	return false;	/* without others, they are among the module's own */
}

/* A breakpoint in memory of the module, or in that of its start-up alone. */
static bool kpl_events_stand_in(const struct kpl_events *es, const struct module *mod,
				bool init_alone)
{
	if (es->attr.type != PERF_TYPE_BREAKPOINT)
		return false;
	return kpl_goes_with(mod, es->attr.bp_addr, init_alone) ||
	       (!init_alone && kpl_is_cpus_data_of(mod, es->attr.bp_addr));
}

/* A module that goes: the notifier below has been, or is to come. */
static bool kpl_is_memory_gone(const struct kpl_events *es)
{
	return es->attr.type == PERF_TYPE_BREAKPOINT &&
	       (kpl_is_going(es->attr.bp_addr) || kpl_is_cpus_data_going(es->attr.bp_addr));
}

static bool kpl_any_stands_in(const struct module *mod, bool init_alone)
{
	const struct kpl_events *es;
	bool any = false;

	mutex_lock(&kpl_events_list_lock);
	list_for_each_entry(es, &kpl_events_all, list)
		any = any || kpl_events_stand_in(es, mod, init_alone);
	mutex_unlock(&kpl_events_list_lock);
	return any;
}

/* Before the memory goes.  What is armed from now on is refused: kpl_is_memory_gone(). */
static int kpl_events_module(struct notifier_block *nb, unsigned long state, void *data)
{
	struct kpl_events *es;

	if (state != MODULE_STATE_GOING && state != MODULE_STATE_LIVE)
		return NOTIFY_DONE;
	if (!kpl_any_stands_in(data, state == MODULE_STATE_LIVE))
		return NOTIFY_OK;
	mutex_lock(&kpl_events_lock);
	list_for_each_entry(es, &kpl_events_all, list) {
		if (!kpl_events_stand_in(es, data, state == MODULE_STATE_LIVE))
			continue;
		kpl_events_drop_all(es);
		es->pr->armed = false;
		WRITE_ONCE(es->pr->gone, true);
	}
	mutex_unlock(&kpl_events_lock);
	return NOTIFY_OK;
}

static struct notifier_block kpl_events_modules = {
	.notifier_call = kpl_events_module,
	.priority = KPL_MODULES_FIRST,
};

/*
 * The debug registers and counters of the CPU that never went are not as they
 * were: nobody sets them again.  All events are made anew.
 */
void kpl_events_woke(void)
{
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		WRITE_ONCE(kpl_cpu_lives[cpu], kpl_cpu_lives[cpu] + 1);
	schedule_work(&kpl_cpus_work);
}

int kpl_event_init(void)
{
	int err = -ENOMEM;

	kpl_cpu_lives = kcalloc(nr_cpu_ids, sizeof(*kpl_cpu_lives), GFP_KERNEL);
	if (!kpl_cpu_lives)
		return err;
	err = register_module_notifier(&kpl_events_modules);
	if (err)
		goto fail_modules;
	/* To be called for those that are up would wait for each, which may be busy for ever. */
	cpus_read_lock();
	cpumask_copy(&kpl_cpus_up, cpu_online_mask);
	kpl_cpu_state = cpuhp_setup_state_nocalls_cpuslocked(CPUHP_AP_ONLINE_DYN,
							     "kprobe_lua:online", kpl_cpu_comes,
							     kpl_cpu_goes);
	cpus_read_unlock();
	if (kpl_cpu_state >= 0)
		return 0;
	err = kpl_cpu_state;
	unregister_module_notifier(&kpl_events_modules);
fail_modules:
	kfree(kpl_cpu_lives);
	return err;
}

void kpl_event_exit(void)
{
	unregister_module_notifier(&kpl_events_modules);
	cpuhp_remove_state_nocalls(kpl_cpu_state);
	cancel_work_sync(&kpl_cpus_work);
	kfree(kpl_cpu_lives);
}

/* ----------------------------------------------------------- what kinds share */

struct kpl_events *kpl_events_alloc(struct kpl_probe *pr, const struct perf_event_attr *attr,
				    bool one_cpu, perf_overflow_handler_t hit)
{
	struct kpl_events *es = kzalloc(struct_size(es, cpus, nr_cpu_ids), KPL_GFP);

	if (!es)
		return NULL;
	if (attr->type == PERF_TYPE_BREAKPOINT)
		kpl_refused_hold(KPL_REFUSED_WATCHPOINTS);
	es->pr = pr;
	es->attr = *attr;
	es->one_cpu = one_cpu;
	es->hit = hit;
	mutex_lock(&kpl_events_lock);
	mutex_lock(&kpl_events_list_lock);
	list_add(&es->list, &kpl_events_all);
	mutex_unlock(&kpl_events_list_lock);
	mutex_unlock(&kpl_events_lock);
	return es;
}

u64 kpl_events_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return struct_size((struct kpl_events *)NULL, cpus, nr_cpu_ids) +
	       (u64)nr_cpu_ids * sizeof(struct perf_event);
}

static int kpl_events_on(struct kpl_probe *pr)
{
	struct kpl_events *es = pr->events;
	int err;

	mutex_lock(&kpl_events_lock);
	err = pr->gone || kpl_is_memory_gone(es) ? -ENOENT : kpl_events_follow(es);
	if (!err)
		pr->armed = true;
	else if (!pr->armed)
		kpl_events_drop_all(es);
	mutex_unlock(&kpl_events_lock);
	return err;
}

static void kpl_events_off(struct kpl_probe *pr)
{
	mutex_lock(&kpl_events_lock);
	kpl_events_drop_all(pr->events);
	pr->armed = false;
	mutex_unlock(&kpl_events_lock);
}

void kpl_events_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = kpl_interrupted(prs[i]) ? -EINTR : kpl_events_on(prs[i]);
		kpl_step(prs[i]);
	}
}

void kpl_events_disarm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		kpl_events_off(prs[i]);
		prs[i]->error = 0;
	}
}

void kpl_events_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	kpl_events_disarm(prs, nr);
	for (i = 0; i < nr; i++)
		prs[i]->added = false;
}

void kpl_events_free(struct kpl_probe *pr)
{
	if (!pr->events)
		return;
	mutex_lock(&kpl_events_lock);
	mutex_lock(&kpl_events_list_lock);
	list_del(&pr->events->list);
	mutex_unlock(&kpl_events_list_lock);
	mutex_unlock(&kpl_events_lock);
	if (pr->events->attr.type == PERF_TYPE_BREAKPOINT)
		kpl_refused_release(KPL_REFUSED_WATCHPOINTS);
	kfree(pr->events);
	pr->events = NULL;
}

/* -------------------------------------------------------- clocks and counters */

/*
 * After so many samples since the CPU's last tick, perf stops a clock until the next
 * one, which an idle CPU does not have soon.  All that tick are bounded already:
 * KPL_MAX_TICKS.  All ones: it is stopped.
 */
static void kpl_clock_goes_on(const struct kpl_probe *pr, struct hw_perf_event *clock)
{
	if (kpl_is_clock(pr->event, pr->origin.addr) && clock->interrupts != ~0ull)
		clock->interrupts = 0;
}

/* A hit: the event's own context, an interrupt for clocks; preemption off. */
static void kpl_hit_event(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	const struct kpl_probe *pr = event->overflow_handler_context;

	kpl_clock_goes_on(pr, &event->hw);
	if (!kpl_over(pr) && !(pr->when.mask && kpl_skipped(pr)))
		kpl_handle_as(pr, KPL_SIDE_FIRST, regs,
			      pr->event == KPL_EVENT_SOFTWARE && kpl_are_perfs_own(regs) ?
					KPL_REGS_CALLER : KPL_REGS_EXACT);
}

u64 kpl_event_place(const struct kpl_probe *pr)
{
	u64 one = kpl_is_clock(pr->event, pr->origin.addr) ? 0 :
			(u64)pr->event << 32 | (u32)pr->origin.addr;

	return (unsigned long)&kpl_event_ops + one;
}

u32 kpl_event_ticks(const struct kpl_probe *pr)
{
	if (!kpl_is_clock(pr->event, pr->origin.addr))
		return 0;
	if (pr->event == KPL_EVENT_PROFILE)
		return pr->period;
	return div64_u64(NSEC_PER_SEC, pr->period);
}

static int kpl_event_add_one(struct kpl_probe *pr)
{
	const struct perf_event_attr attr = {
		.type = pr->event == KPL_EVENT_HARDWARE ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = pr->origin.addr,
		.sample_period = pr->period,	/* or sample_freq: they are one */
		.freq = pr->event == KPL_EVENT_PROFILE,
		.pinned = 1,
	};

	pr->events = kpl_events_alloc(pr, &attr, pr->event == KPL_EVENT_INTERVAL, kpl_hit_event);
	return pr->events ? 0 : -ENOMEM;
}

static void kpl_event_add(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_event_add_one);
}

const struct kpl_probe_ops kpl_event_ops = {
	.kind = KPL_PROBE_EVENT,
	.rules.takes = KPL_TAKES_EVENT,
	.memory = kpl_events_memory,
	.kinds = { KPL_PROG_PRE, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_event_add,
	.run[KPL_OP_ARM] = kpl_events_arm,
	.run[KPL_OP_DISARM] = kpl_events_disarm,
	.run[KPL_OP_REMOVE] = kpl_events_remove,
	.free = kpl_events_free,
	.state = kpl_plain_state,
	.stats = kpl_hit_stats,
};
