// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory for the CPUs that are up, and for those that come up later.  Process
 * context throughout.
 *
 * A CPU that comes is told of with the hotplug lock held for writing.  Calls
 * that hold a session's lock wait for that one: here no session's lock is
 * taken, and nothing under ours waits for the hotplug lock or for user space.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>

#include "grow.h"

static DEFINE_MUTEX(kpl_grow_lock);
static LIST_HEAD(kpl_growers);
static struct cpumask kpl_cpus_here;	/* up, or about to be */
static int kpl_grow_state;

/* ------------------------------------------------------------------- one of them */

static int kpl_grow(struct kpl_grower *g, u32 cpu)
{
	struct kpl_areas *areas = g->areas;
	int err = 0;

	if (areas->of[cpu].addr)
		return 0;
	if (g->ahead)
		g->ahead--;
	else
		err = kpl_charge(areas->session, g->each);
	if (err)
		return err;
	err = g->make(g, cpu);
	if (err)
		kpl_uncharge(areas->session, g->each);
	else
		WRITE_ONCE(areas->charged, areas->charged + g->each);
	return err;
}

static int kpl_grow_all(struct kpl_grower *g)
{
	u32 cpu;
	int err = 0;

	for_each_cpu(cpu, &kpl_cpus_here)
		err = err ?: kpl_grow(g, cpu);
	return err;
}

static bool kpl_grow_is_done(const struct kpl_grower *g)
{
	u32 cpu;

	for_each_cpu(cpu, &kpl_cpus_here)
		if (!g->areas->of[cpu].addr)
			return false;
	return true;
}

static void kpl_grow_pay_back(struct kpl_grower *g)
{
	kpl_uncharge(g->areas->session, g->ahead * g->each);
	g->ahead = 0;
}

/* Nobody else knows of it at first: what takes long is done without the lock. */
int kpl_grow_begin(struct kpl_grower *g)
{
	u32 nr = cpumask_weight(&kpl_cpus_here);
	int err;

	INIT_LIST_HEAD(&g->list);
	err = kpl_charge(g->areas->session, nr * g->each);
	if (err)
		return err;
	g->ahead = nr;
	for (;;) {
		err = kpl_grow_all(g);
		mutex_lock(&kpl_grow_lock);
		if (err || kpl_grow_is_done(g))
			break;
		mutex_unlock(&kpl_grow_lock);	/* for those that have come since */
	}
	/* A CPU that comes once the list has it takes of what is ahead, too. */
	kpl_grow_pay_back(g);
	if (!err)
		list_add(&g->list, &kpl_growers);
	mutex_unlock(&kpl_grow_lock);
	return err;
}

void kpl_grow_end(struct kpl_grower *g)
{
	if (!g->list.next)
		return;
	mutex_lock(&kpl_grow_lock);
	list_del_init(&g->list);
	mutex_unlock(&kpl_grow_lock);
}

void kpl_grow_end_all(const struct kpl_session *s)
{
	struct kpl_grower *g, *next;

	mutex_lock(&kpl_grow_lock);
	list_for_each_entry_safe(g, next, &kpl_growers, list)
		if (g->areas->session == s)
			list_del_init(&g->list);
	mutex_unlock(&kpl_grow_lock);
}

/* ------------------------------------------------------------------ CPUs come and go */

/* Before the CPU runs anything; that there is no memory does not keep it from coming. */
static int kpl_grow_comes(unsigned int cpu)
{
	struct kpl_grower *g;
	int err = 0;

	mutex_lock(&kpl_grow_lock);
	cpumask_set_cpu(cpu, &kpl_cpus_here);
	list_for_each_entry(g, &kpl_growers, list)
		err = kpl_grow(g, cpu) ?: err;
	mutex_unlock(&kpl_grow_lock);
	if (err)
		pr_warn("kprobe_lua: no memory for CPU %u (%d): what handlers record is lost\n",
			cpu, err);
	return 0;
}

static int kpl_grow_gone(unsigned int cpu)
{
	mutex_lock(&kpl_grow_lock);
	cpumask_clear_cpu(cpu, &kpl_cpus_here);
	mutex_unlock(&kpl_grow_lock);
	return 0;
}

int kpl_grow_init(void)
{
	cpus_read_lock();
	cpumask_copy(&kpl_cpus_here, cpu_online_mask);
	kpl_grow_state = cpuhp_setup_state_nocalls_cpuslocked(CPUHP_BP_PREPARE_DYN,
							      "kprobe_lua:prepare",
							      kpl_grow_comes, kpl_grow_gone);
	cpus_read_unlock();
	return kpl_grow_state < 0 ? kpl_grow_state : 0;
}

void kpl_grow_exit(void)
{
	cpuhp_remove_state_nocalls(kpl_grow_state);
}
