/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Calls of one function of a process's program that are followed to their
 * return.  What a call is known by is its task and the stack pointer at its
 * entry.  Context: the task, preemption on or off; nothing here sleeps but
 * where it says so.
 */
#ifndef KPL_UCALL_H
#define KPL_UCALL_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include "guard.h"

struct return_instance;
struct task_struct;

struct kpl_ucall {
	struct hlist_node node;		/* of its bucket, or of the free ones */
	const struct task_struct *task;
	unsigned long sp;
	u64 data[];			/* and a copy, for a handler that runs again */
};

#define KPL_UCALL_BITS	7

struct kpl_ucalls {
	struct list_head list;		/* of all tables */
	const struct kpl_origin *origin;	/* whose calls they are */
	raw_spinlock_t lock;
	u32 data_size;
	u32 under_way;
	bool one_process;	/* not of its children, whom the probe's `when` leaves out */
	void *memory;
	struct hlist_head free;
	struct hlist_head buckets[1 << KPL_UCALL_BITS];
};

#define KPL_UCALLS	1024		/* by default */

/* Process context.  `nr` of them at once, each with so much data; an ERR_PTR on failure. */
struct kpl_ucalls *kpl_ucalls_alloc(const struct kpl_origin *origin, u32 nr, u32 data_size);
u64 kpl_ucalls_memory(u32 nr, u32 data_size);
/* No hit comes any more; between the two, a wait for all that run with preemption off. */
void kpl_ucalls_retire(struct kpl_ucalls *calls);
void kpl_ucalls_free(struct kpl_ucalls *calls);

/*
 * The current task enters: a call that has begun, or NULL if there is no room.
 * Its calls from deeper in the stack have been left otherwise than by a return;
 * those from the same place, too, unless it is chained, of which the process may
 * persuade us: a task has at most MAX_URETPROBE_DEPTH here, as in the kernel.
 */
struct kpl_ucall *kpl_ucall_enter(struct kpl_ucalls *calls, unsigned long sp, bool chained);
/* The current task's calls whose returns the kernel waits for, the newest first; or NULL. */
const struct return_instance *kpl_user_followed(void);
/* The current task returns from the newest call that had `sp` at its entry: taken out, or NULL. */
struct kpl_ucall *kpl_ucall_leave(struct kpl_ucalls *calls, unsigned long sp);
void kpl_ucall_give(struct kpl_ucalls *calls, struct kpl_ucall *call);	/* back, taken out before or not */
void kpl_ucalls_forget(struct kpl_ucalls *calls);	/* all that are under way: their returns are missed */

/* Of each task, with preemption off: it is exiting, or has a new program; it has a child, which does not run yet. */
void kpl_user_calls_end(const struct task_struct *task);
void kpl_user_calls_fork(const struct task_struct *parent, const struct task_struct *child);

#endif
