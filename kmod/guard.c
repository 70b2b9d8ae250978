// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The guard, the wait for all that run under it, and their scratch memory. */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "guard.h"
#include "session.h"

DEFINE_PER_CPU(struct kpl_ctx, kpl_ctx) ____cacheline_aligned;

void kpl_guard_init(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		per_cpu(kpl_ctx, cpu).hit.cpu = cpu;
}

struct kpl_ctx *kpl_guard_get(const struct kpl_origin *origin)
{
	struct kpl_ctx *ctx;

	preempt_disable();
	ctx = this_cpu_ptr(&kpl_ctx);
	ctx->origin = origin;
	barrier();
	ctx->regs_are = KPL_REGS_PROBED;	/* whatever one that the kernel died in has left */
	return ctx;
}

void kpl_guard_put(struct kpl_ctx *ctx)
{
	barrier();
	ctx->origin = NULL;
	barrier();
	preempt_enable();
}

/* A handler that the kernel died in never ends; on a CPU that is off since, nothing runs. */
static void kpl_guards_forget(void)
{
	unsigned int cpu;

	cpus_read_lock();
	for_each_possible_cpu(cpu) {
		if (cpu_online(cpu))
			continue;
		per_cpu(kpl_ctx, cpu).regs_are = KPL_REGS_PROBED;
		WRITE_ONCE(per_cpu(kpl_ctx, cpu).origin, NULL);
	}
	cpus_read_unlock();
}

void kpl_hits_drain(void)
{
	unsigned long end = jiffies + 60 * HZ;
	unsigned int cpu;

	synchronize_rcu_expedited();	/* the next line disturbs every CPU anyway */
	kick_all_cpus_sync();
	/*
	 * Neither waits for a CPU on its way on or off, where a hit that has not yet
	 * reached the guard would not be seen below: until there is none.
	 */
	cpus_read_lock();
	cpus_read_unlock();
	for_each_possible_cpu(cpu)
		while (!cpu_online(cpu) && READ_ONCE(per_cpu(kpl_ctx, cpu).origin)) {
			if (time_after(jiffies, end))
				kpl_guards_forget();
			usleep_range(100, 1000);
		}
}

/* ------------------------------------------------------------------ scratch */

struct kpl_scratch {
	u32 size;
	u64 charged;
	void *cpu[];	/* nr_cpu_ids */
};

static void kpl_scratch_release(struct kpl_session *s, struct kpl_scratch *scratch)
{
	u32 cpu;

	if (!scratch)
		return;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		kvfree(scratch->cpu[cpu]);
	kpl_uncharge(s, scratch->charged);
	kvfree(scratch);
}

void kpl_scratch_free(struct kpl_session *s)
{
	kpl_scratch_release(s, s->scratch);
}

static struct kpl_scratch *kpl_scratch_alloc(struct kpl_session *s, u32 size)
{
	u64 charged = (u64)size * num_possible_cpus();
	struct kpl_scratch *scratch;
	int err = kpl_charge(s, charged);
	u32 cpu;

	if (err)
		return ERR_PTR(err);
	scratch = kvzalloc(struct_size(scratch, cpu, nr_cpu_ids), KPL_GFP);
	if (!scratch) {
		kpl_uncharge(s, charged);
		return ERR_PTR(-ENOMEM);
	}
	scratch->size = size;
	scratch->charged = charged;
	for_each_possible_cpu(cpu) {
		scratch->cpu[cpu] = kvzalloc_node(size, KPL_GFP, cpu_to_node(cpu));
		if (!scratch->cpu[cpu]) {
			kpl_scratch_release(s, scratch);
			return ERR_PTR(-ENOMEM);
		}
	}
	return scratch;
}

/* Nothing in scratch memory outlives a hit: a larger one simply takes over. */
int kpl_scratch_reserve(struct kpl_session *s, u32 size)
{
	struct kpl_scratch *old = s->scratch, *scratch;
	u32 cpu;

	size = roundup_pow_of_two(max(size, 64u));
	if (old && old->size >= size)
		return 0;
	scratch = kpl_scratch_alloc(s, size);
	if (IS_ERR(scratch))
		return PTR_ERR(scratch);
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(s->cpu, cpu)->scratch, scratch->cpu[cpu]);
	s->scratch = scratch;
	if (old) {
		kpl_hits_drain();
		kpl_scratch_release(s, old);
	}
	return 0;
}
