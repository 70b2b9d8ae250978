// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Return probes, by the kernel's kretprobes.  Process context.
 *
 * The kernel owns the instances (our data is their tail).  Unregistering
 * disconnects those of functions that still sleep: when they return, the
 * kernel frees the instance and calls nothing of ours, so the module may be
 * gone by then.
 */
#include <linux/build_bug.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "call.h"
#include "common.h"
#include "going.h"
#include "jumps.h"
#include "kprobe.h"
#include "kretprobe.h"
#include "place.h"
#include "stats.h"

static_assert(KPL_MAX_DATA <= KRETPROBE_MAX_DATA_SIZE);
static_assert(offsetof(struct kretprobe_instance, data) % 8 == 0);

#ifdef KPL_HAVE_RETHOOK_OBJPOOL
/*
 * The kernel frees all instances of a probe together, with the last call that
 * returns.  Until then they count: we hold the pool as each of them does, and
 * look from time to time whether we are the last.
 */
struct kpl_pool {
	struct objpool_head *objs;	/* the kernel's; NULL: the probe was not registered */
	u64 charged;
	struct list_head list;		/* of those whose probes are gone */
};
#endif

static u32 kpl_data_size(const struct kpl_prog *prog)
{
	return prog ? prog->data_size : 0;
}

static u32 kpl_probe_data_size(const struct kpl_probe *pr)
{
	return max(kpl_data_size(pr->handler[KPL_SIDE_FIRST].prog),
		   kpl_data_size(pr->handler[KPL_SIDE_SECOND].prog));
}

static u64 kpl_instances_memory(u32 maxactive, u32 data_size)
{
	u32 nr = maxactive ?: max(10u, 2 * num_possible_cpus());
	u64 size = sizeof(struct kretprobe_instance) + data_size;

#ifdef KPL_HAVE_RETHOOK_OBJPOOL
	/* In pages for each CPU: its share, and room for the addresses of all. */
	return sizeof(struct kpl_pool) + num_possible_cpus() *
	       PAGE_ALIGN(sizeof(struct objpool_slot) + roundup_pow_of_two(nr) * sizeof(void *) +
			  DIV_ROUND_UP(nr, num_possible_cpus()) * size);
#else
	return nr * roundup_pow_of_two(size);	/* each by itself */
#endif
}

/* ------------------------------------------------------------------- instances */

#ifdef KPL_HAVE_RETHOOK_OBJPOOL

static DEFINE_MUTEX(kpl_pools_lock);
static LIST_HEAD(kpl_pools);

/* The kernel's own functions free it, also when we are gone. */
static void kpl_pool_put(struct kpl_pool *pool)
{
	if (pool->objs)
		objpool_drop(pool, pool->objs);
	kfree(pool);
}

static bool kpl_pool_is_last(const struct kpl_pool *pool)
{
	return !pool->objs || refcount_read(&pool->objs->ref) == 1;
}

static void kpl_pools_look(struct work_struct *work);
static DECLARE_DELAYED_WORK(kpl_pools_work, kpl_pools_look);

static void kpl_pools_look(struct work_struct *work)
{
	struct kpl_pool *pool, *next;

	mutex_lock(&kpl_pools_lock);
	list_for_each_entry_safe(pool, next, &kpl_pools, list) {
		if (!kpl_pool_is_last(pool))
			continue;
		list_del(&pool->list);
		kpl_uncharge_shared(pool->charged);
		kpl_pool_put(pool);
		cond_resched_tasks_rcu_qs();
	}
	if (!list_empty(&kpl_pools))
		queue_delayed_work(kpl_jobs, &kpl_pools_work, HZ);
	mutex_unlock(&kpl_pools_lock);
}

static int kpl_pool_alloc(struct kpl_probe *pr)
{
	pr->pool = kzalloc(sizeof(*pr->pool), KPL_GFP);
	return pr->pool ? 0 : -ENOMEM;
}

/* The probe is registered. */
static void kpl_pool_hold(struct kpl_probe *pr)
{
	pr->pool->objs = &pr->rp.rh->pool;
	pr->pool->charged = kpl_instances_memory(pr->maxactive, kpl_probe_data_size(pr));
	refcount_inc(&pr->pool->objs->ref);
}

static void kpl_kretprobe_free(struct kpl_probe *pr)
{
	struct kpl_pool *pool = pr->pool;

	if (!pool)
		return;
	pr->pool = NULL;
	if (kpl_pool_is_last(pool)) {
		kpl_pool_put(pool);
		return;
	}
	pr->charged -= pool->charged;
	pr->held -= pool->charged;
	kpl_charge_leave(pr->origin.session, pool->charged);
	mutex_lock(&kpl_pools_lock);
	list_add(&pool->list, &kpl_pools);
	/* Most wait for no call, but for a grace period. */
	queue_delayed_work(kpl_jobs, &kpl_pools_work, HZ / 10);
	mutex_unlock(&kpl_pools_lock);
}

/* Calls under way are waited for by nobody. */
void kpl_kretprobe_exit(void)
{
	struct kpl_pool *pool, *next;

	cancel_delayed_work_sync(&kpl_pools_work);
	list_for_each_entry_safe(pool, next, &kpl_pools, list)
		kpl_pool_put(pool);
}

#else

/* Here an instance is freed with its call. */
static int kpl_pool_alloc(struct kpl_probe *pr)
{
	return 0;
}

static void kpl_pool_hold(struct kpl_probe *pr)
{
}

#define kpl_kretprobe_free	NULL

void kpl_kretprobe_exit(void)
{
}

#endif

/* ------------------------------------------------------------------ operations */

static int kpl_kretprobe_add_one(struct kpl_probe *pr)
{
	struct kretprobe *rp = &pr->rp;
	int err = kpl_check_place(pr->origin.addr, true);

	/* An empty post handler, as kprobes have, is not to be had here. */
	if (!err && (!kpl_may_optimize(pr->origin.addr) || kpl_may_be_label(pr->origin.addr)))
		err = -EINVAL;
	/* Those before it in its batch have taken theirs. */
	if (!err && !kpl_memory_there(kpl_instances_memory(pr->maxactive, kpl_probe_data_size(pr))))
		err = -ENOMEM;
	err = err ?: kpl_pool_alloc(pr);
	if (err)
		return err;
	rp->kp.addr = (kprobe_opcode_t *)pr->origin.addr;
	rp->kp.flags = KPROBE_FLAG_DISABLED;
	rp->maxactive = pr->maxactive;
	rp->data_size = kpl_probe_data_size(pr);
	kpl_hit_handlers(pr);
	err = register_kretprobe(rp);
	if (err)
		return err;
	kpl_pool_hold(pr);
	err = kpl_check_registered(&rp->kp);
	if (err) {
		kpl_kprobe_pass_on(&rp->kp);
		unregister_kretprobe(rp);
		return err;
	}
	/* Not armed yet: nothing runs while our handler takes the place of the kernel's. */
	kpl_hook_return_set(rp->kp.pre_handler);
	if (pr->when.mask)
		pr->hook = kpl_hit_call_when;
	else
		pr->hook = rp->entry_handler ? kpl_hit_call_entry : kpl_hit_call;
	rp->kp.pre_handler = pr->hook;
	return 0;
}

static int kpl_kretprobe_try(struct kpl_probe *pr)
{
	return kpl_interrupted(pr) ? -EINTR : kpl_kretprobe_add_one(pr);
}

static void kpl_kretprobe_add(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_kretprobe_try);
}

static int kpl_kretprobe_insist(struct kpl_probe *pr)
{
	bool ends = READ_ONCE(pr->origin.session->closing) || fatal_signal_pending(current);

	return ends ? -EINTR : kpl_kretprobe_add_one(pr);
}

void kpl_kretprobe_add_left(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_kretprobe_insist);
}

static int kpl_returned_nothing(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static void kpl_kretprobe_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	kpl_kprobes_unregister(prs, kpl_kprobes_off(prs, nr), true);
	/* As unregistering does with the others: calls under way return to nothing of ours. */
	for (i = 0; i < nr; i++)
		if (prs[i]->stuck)
			WRITE_ONCE(prs[i]->rp.handler, kpl_returned_nothing);
}

void kpl_kretprobe_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	struct kpl_counts *entry = &out->entry;
	u64 hooked;

	kpl_call_stats(pr, out);
	kpl_counts_miss(entry, kpl_kprobe_missed(pr));
	hooked = pr->handler[KPL_SIDE_SECOND].run ? entry->handled - out->declined : 0;
	out->outstanding = hooked > out->ret.hits ? hooked - out->ret.hits : 0;
}

static u64 kpl_kretprobe_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return kpl_instances_memory(a->maxactive, max(kpl_data_size(progs[KPL_SIDE_FIRST]),
						      kpl_data_size(progs[KPL_SIDE_SECOND])));
}

int kpl_kretprobe_take(struct kpl_probe *pr)
{
	u64 memory = kpl_instances_memory(pr->maxactive, kpl_probe_data_size(pr));
	int err = kpl_charge(pr->origin.session, memory);

	if (err)
		return err;
	pr->charged += memory;
	pr->held += memory;
	pr->ops = &kpl_kretprobe_ops;
	return 0;
}

const struct kpl_probe_ops kpl_kretprobe_ops = {
	.kind = KPL_PROBE_KRETPROBE,
	.changes = true,
	.rules.maxactive = KPL_MAX_ACTIVE,
	.memory = kpl_kretprobe_memory,
	.kinds = { KPL_PROG_ENTRY, KPL_PROG_RET, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_kretprobe_add,
	.run[KPL_OP_ARM] = kpl_kprobe_arm,
	.run[KPL_OP_DISARM] = kpl_kprobe_disarm,
	.run[KPL_OP_REMOVE] = kpl_kretprobe_remove,
	.free = kpl_kretprobe_free,
	.state = kpl_kprobe_state,
	.stats = kpl_kretprobe_stats,
};
