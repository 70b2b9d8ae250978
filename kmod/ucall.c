// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls under way in processes.  They are few, and short-lived, beside what a
 * uprobe's trap takes: one lock for each function does.
 */
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uprobes.h>

#include "compat.h"
#include "session.h"
#include "ucall.h"

#ifdef KPL_UPROBES

#define KPL_MAX_UCALLS	16384	/* tasks that end or fork inside of calls go through all of them */

static LIST_HEAD(kpl_ucalls_all);
static u32 kpl_ucalls_nr;
static DEFINE_RAW_SPINLOCK(kpl_ucalls_lock);

/*
 * Calls under way in all tables, by a hash of their task: the end of a task
 * that has none looks at no table.
 */
#define KPL_UCALLERS_BITS	16

static atomic_t kpl_ucallers[1 << KPL_UCALLERS_BITS];

static atomic_t *kpl_ucalls_by(const struct task_struct *task)
{
	return &kpl_ucallers[hash_ptr((void *)task, KPL_UCALLERS_BITS)];
}

static u32 kpl_ucall_size(u32 data_size)
{
	return sizeof(struct kpl_ucall) + 2 * data_size;
}

u64 kpl_ucalls_memory(u32 nr, u32 data_size)
{
	return sizeof(struct kpl_ucalls) + (u64)nr * kpl_ucall_size(data_size);
}

struct kpl_ucalls *kpl_ucalls_alloc(const struct kpl_origin *origin, u32 nr, u32 data_size)
{
	struct kpl_ucalls *calls = kvzalloc(sizeof(*calls), KPL_GFP);
	bool room;
	u32 i;

	if (!calls)
		return ERR_PTR(-ENOMEM);
	calls->memory = kvcalloc(nr, kpl_ucall_size(data_size), KPL_GFP);
	if (!calls->memory) {
		kvfree(calls);
		return ERR_PTR(-ENOMEM);
	}
	raw_spin_lock_init(&calls->lock);
	calls->origin = origin;
	calls->data_size = data_size;
	for (i = 0; i < nr; i++) {
		struct kpl_ucall *call = calls->memory + i * kpl_ucall_size(data_size);

		hlist_add_head(&call->node, &calls->free);
	}
	raw_spin_lock(&kpl_ucalls_lock);
	room = kpl_ucalls_nr < KPL_MAX_UCALLS;
	if (room) {
		list_add_rcu(&calls->list, &kpl_ucalls_all);
		kpl_ucalls_nr++;
	}
	raw_spin_unlock(&kpl_ucalls_lock);
	if (room)
		return calls;
	kpl_ucalls_free(calls);
	return ERR_PTR(-EUSERS);
}

void kpl_ucalls_retire(struct kpl_ucalls *calls)
{
	raw_spin_lock(&kpl_ucalls_lock);
	list_del_rcu(&calls->list);
	kpl_ucalls_nr--;
	raw_spin_unlock(&kpl_ucalls_lock);
}

void kpl_ucalls_free(struct kpl_ucalls *calls)
{
	kvfree(calls->memory);
	kvfree(calls);
}

static struct hlist_head *kpl_ucall_bucket(struct kpl_ucalls *calls,
					   const struct task_struct *task)
{
	return &calls->buckets[hash_ptr((void *)task, KPL_UCALL_BITS)];
}

/* Under the lock: of one that is under way, whether it has been taken out or not. */
static void kpl_ucall_drop(struct kpl_ucalls *calls, struct kpl_ucall *call)
{
	hlist_del_init(&call->node);
	hlist_add_head(&call->node, &calls->free);
	calls->under_way--;
	atomic_dec(kpl_ucalls_by(call->task));
}

/* Under the lock.  NULL: all are under way.  A task's newest call comes first. */
static struct kpl_ucall *kpl_ucall_take(struct kpl_ucalls *calls, const struct task_struct *task,
					unsigned long sp)
{
	struct kpl_ucall *call;

	if (hlist_empty(&calls->free))
		return NULL;
	call = hlist_entry(calls->free.first, struct kpl_ucall, node);
	hlist_del(&call->node);
	hlist_add_head(&call->node, kpl_ucall_bucket(calls, task));
	call->task = task;
	call->sp = sp;
	calls->under_way++;
	atomic_inc(kpl_ucalls_by(task));
	return call;
}

/* Under the lock: those of the task that lie lower than `sp`.  How many it has left. */
static u32 kpl_ucalls_leave_below(struct kpl_ucalls *calls, const struct task_struct *task,
				  unsigned long sp)
{
	struct hlist_node *next;
	struct kpl_ucall *call;
	u32 left = 0;

	hlist_for_each_entry_safe(call, next, kpl_ucall_bucket(calls, task), node) {
		if (call->task != task)
			continue;
		if (call->sp < sp)
			kpl_ucall_drop(calls, call);
		else
			left++;
	}
	return left;
}

const struct return_instance *kpl_user_followed(void)
{
	return current->utask ? current->utask->return_instances : NULL;
}

/*
 * Under the lock: those of the current task that have been left on other stacks,
 * or higher up, or from the same place by a process that pretended otherwise.
 * Each that stays has a return of its own that the kernel waits for.  Both lists
 * begin with the newest, which lies lowest in the stack.
 */
static void kpl_ucalls_leave_lost(struct kpl_ucalls *calls)
{
	const struct return_instance *ri = kpl_user_followed();
	struct hlist_node *next;
	struct kpl_ucall *call;

	hlist_for_each_entry_safe(call, next, kpl_ucall_bucket(calls, current), node) {
		if (call->task != current)
			continue;
		while (ri && ri->stack < call->sp)
			ri = ri->next;
		if (ri && ri->stack == call->sp)
			ri = ri->next;
		else
			kpl_ucall_drop(calls, call);
	}
}

struct kpl_ucall *kpl_ucall_enter(struct kpl_ucalls *calls, unsigned long sp, bool chained)
{
	struct kpl_ucall *call;

	raw_spin_lock(&calls->lock);
	/* The kernel follows fewer at this moment, so fewer are left then. */
	if (kpl_ucalls_leave_below(calls, current, chained ? sp : sp + 1) >= MAX_URETPROBE_DEPTH)
		kpl_ucalls_leave_lost(calls);
	call = kpl_ucall_take(calls, current, sp);
	raw_spin_unlock(&calls->lock);
	return call;
}

struct kpl_ucall *kpl_ucall_leave(struct kpl_ucalls *calls, unsigned long sp)
{
	struct kpl_ucall *call;

	raw_spin_lock(&calls->lock);
	hlist_for_each_entry(call, kpl_ucall_bucket(calls, current), node)
		if (call->task == current && call->sp == sp)
			break;
	if (call)
		hlist_del_init(&call->node);
	raw_spin_unlock(&calls->lock);
	return call;
}

void kpl_ucall_give(struct kpl_ucalls *calls, struct kpl_ucall *call)
{
	raw_spin_lock(&calls->lock);
	kpl_ucall_drop(calls, call);
	raw_spin_unlock(&calls->lock);
}

void kpl_ucalls_forget(struct kpl_ucalls *calls)
{
	struct hlist_node *next;
	struct kpl_ucall *call;
	u32 i;

	raw_spin_lock(&calls->lock);
	for (i = 0; i < ARRAY_SIZE(calls->buckets); i++)
		hlist_for_each_entry_safe(call, next, &calls->buckets[i], node) {
			kpl_ucall_drop(calls, call);
			kpl_count(calls->origin, KPL_SIDE_SECOND, KPL_C_MISSED);
		}
	raw_spin_unlock(&calls->lock);
}

static void kpl_ucalls_end(struct kpl_ucalls *calls, const struct task_struct *task,
			   const struct task_struct *child)
{
	kpl_ucalls_leave_below(calls, task, ULONG_MAX);
}

/* The child returns from the same calls.  It does not run yet. */
static void kpl_ucalls_fork(struct kpl_ucalls *calls, const struct task_struct *parent,
			    const struct task_struct *child)
{
	struct kpl_ucall *call, *copy, *last = NULL;

	if (calls->one_process)
		return;
	hlist_for_each_entry(call, kpl_ucall_bucket(calls, parent), node) {
		if (call->task != parent)
			continue;
		/* At the bucket's head: it is not come by.  The newest stays the first one. */
		copy = kpl_ucall_take(calls, child, call->sp);
		if (!copy) {
			kpl_count(calls->origin, KPL_SIDE_SECOND, KPL_C_MISSED);
			continue;
		}
		memcpy(copy->data, call->data, calls->data_size);
		if (last) {
			hlist_del(&copy->node);
			hlist_add_behind(&copy->node, &last->node);
		}
		last = copy;
	}
}

/* Under its lock, each table that has calls under way. */
static void kpl_ucalls_each(const struct task_struct *task, const struct task_struct *child,
			    void (*each)(struct kpl_ucalls *calls, const struct task_struct *task,
					 const struct task_struct *child))
{
	struct kpl_ucalls *calls;

	rcu_read_lock();
	list_for_each_entry_rcu(calls, &kpl_ucalls_all, list) {
		if (!READ_ONCE(calls->under_way))
			continue;
		raw_spin_lock(&calls->lock);
		each(calls, task, child);
		raw_spin_unlock(&calls->lock);
	}
	rcu_read_unlock();
}

void kpl_user_calls_end(const struct task_struct *task)
{
	if (atomic_read(kpl_ucalls_by(task)))
		kpl_ucalls_each(task, NULL, kpl_ucalls_end);
}

void kpl_user_calls_fork(const struct task_struct *parent, const struct task_struct *child)
{
	/* The kernel follows the returns of a process, not those of a new thread. */
	if (atomic_read(kpl_ucalls_by(parent)) && child->utask && child->utask->return_instances)
		kpl_ucalls_each(parent, child, kpl_ucalls_fork);
}

#else

void kpl_user_calls_end(const struct task_struct *task)
{
}

void kpl_user_calls_fork(const struct task_struct *parent, const struct task_struct *child)
{
}

#endif
