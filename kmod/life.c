// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of a session.
 *
 * It belongs to the process that opened it.  Handlers stop for good at the
 * first of: an explicit close by the opener, the opener's end (exit, exec, a
 * kill at any moment), the release of the file.  Neither a file that a child
 * or a mapping keeps open nor an address space that outlives the opener keeps
 * probes armed.  The memory goes with the release.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/tracepoint.h>

#include "core/args.h"
#include "change.h"
#include "compat.h"
#include "control.h"
#include "direct.h"
#include "event.h"
#include "ftrace.h"
#include "grow.h"
#include "guard.h"
#include "life.h"
#include "log.h"
#include "map.h"
#include "native.h"
#include "overload.h"
#include "probe.h"
#include "prog.h"
#include "reader.h"
#include "refused.h"
#include "ring.h"
#include "session.h"
#include "ucall.h"
#include "wake.h"

/* ------------------------------------------------------------------- sleep */

/* Of the machine. */
static int kpl_sleeps(struct notifier_block *nb, unsigned long what, void *data)
{
	switch (what) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
		kpl_reader_sleeps();
		break;
	case PM_POST_SUSPEND:		/* awake again, or it has not fallen asleep */
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		kpl_reader_woke();
		kpl_wake_woke();
		kpl_events_woke();
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block kpl_sleep = {
	.notifier_call = kpl_sleeps,
};

/* --------------------------------------------------------------- the opener */

/* No handler begins any more; the caller has it disarmed.  Any context. */
static void kpl_session_stop(struct kpl_session *s)
{
	WRITE_ONCE(s->live, NULL);
	WRITE_ONCE(s->closing, true);
}

/* Its sessions do nothing any more, and are disarmed soon. */
static void kpl_orphan(struct kpl_session *s, void *opener)
{
	if (s->opener != opener)
		return;
	kpl_session_stop(s);
	queue_work(kpl_waiters, &s->orphaned);
}

static void kpl_opener_gone(struct pid *opener)
{
	kpl_sessions_each(kpl_orphan, opener);
}

/* The last thread of a process tells: preemption is off. */
static void kpl_process_exit(void *unused, struct task_struct *task)
{
	kpl_user_calls_end(task);
	if (!atomic_read(&task->signal->live))
		kpl_opener_gone(task_tgid(task));
}

/* The process goes on with another program, which has no part in the session. */
static void kpl_process_exec(void *unused, struct task_struct *task, pid_t old_pid,
			     struct linux_binprm *bprm)
{
	kpl_user_calls_end(task);
	kpl_opener_gone(task_tgid(task));
}

static void kpl_process_fork(void *unused, struct task_struct *parent, struct task_struct *child)
{
	kpl_user_calls_fork(parent, child);
}

/* The kernel does not export its tracepoints by name. */
static struct kpl_watch {
	const char *name;
	void *probe;
	struct tracepoint *found;
} kpl_watches[] = {
	{ "sched_process_exit", kpl_process_exit },
	{ "sched_process_exec", kpl_process_exec },
	{ "sched_process_fork", kpl_process_fork },
};

static void kpl_watch_find(struct tracepoint *tp, void *unused)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kpl_watches); i++)
		if (!strcmp(tp->name, kpl_watches[i].name))
			kpl_watches[i].found = tp;
}

static void kpl_unwatch(u32 nr)
{
	while (nr--)
		tracepoint_probe_unregister(kpl_watches[nr].found, kpl_watches[nr].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int kpl_watch(void)
{
	u32 i;

	for_each_kernel_tracepoint(kpl_watch_find, NULL);
	for (i = 0; i < ARRAY_SIZE(kpl_watches); i++) {
		const struct kpl_watch *w = &kpl_watches[i];

		int err = w->found ? tracepoint_probe_register(w->found, w->probe, NULL) : -ENOENT;

		if (err) {
			pr_err("kprobe_lua: can't watch %s (%d)\n", w->name, err);
			kpl_unwatch(i);
			return err;
		}
	}
	return 0;
}

int kpl_life_init(void)
{
	int err = register_pm_notifier(&kpl_sleep) ?: kpl_watch();

	if (err)
		unregister_pm_notifier(&kpl_sleep);
	return err;
}

void kpl_life_exit(void)
{
	kpl_unwatch(ARRAY_SIZE(kpl_watches));
	unregister_pm_notifier(&kpl_sleep);
}

/* --------------------------------------------------------------------- ends */

/*
 * Before 6.9, the end of a PID namespace's init waits for all its processes
 * while every grace period of RCU-tasks waits for it, ours at detaching
 * included.  Who exits in a namespace leaves the rest to a worker.
 */
static bool kpl_must_not_wait(void)
{
	return current->flags & PF_EXITING && task_active_pid_ns(current) != &init_pid_ns;
}

/*
 * A call under way ends at its next step, and an attach is taken back.  That, and the end itself
 * where an exit and a close come together, may take minutes, with tens of thousands of probes: who
 * slept for the lock would be reported as hung, and a machine may be told to panic at that.
 */
static void kpl_session_end(struct kpl_session *s)
{
	kpl_session_stop(s);
	while (!mutex_trylock(&s->lock))
		schedule_timeout_idle(1);
	if (!s->closed) {
		s->closed = true;
		kpl_detach_all(s);
		kpl_wake_end(s);
		kpl_log_ended(s);
	}
	mutex_unlock(&s->lock);
	wake_up_poll(&s->wait, EPOLLHUP);
}

void kpl_session_close(struct kpl_session *s)
{
	if (!kpl_must_not_wait()) {
		kpl_session_end(s);
		return;
	}
	kpl_session_stop(s);
	queue_work(kpl_waiters, &s->orphaned);
}

static void kpl_session_orphaned(struct work_struct *work)
{
	kpl_session_end(container_of(work, struct kpl_session, orphaned));
}

static u64 kpl_session_memory(void)
{
	return sizeof(struct kpl_session) +
	       (u64)num_possible_cpus() * sizeof(struct kpl_session_cpu);
}

static void kpl_session_free(struct kpl_session *s)
{
	kpl_probes_free(s);
	kpl_progs_free(s);
	kpl_maps_free(s);
	kpl_rings_free(s);
	kpl_scratch_free(s);
	free_percpu(s->cpu);
	put_pid(s->opener);
	mutex_destroy(&s->maps_lock);
	mutex_destroy(&s->lock);
	kpl_uncharge(s, kpl_session_memory());
	kvfree(s);
}

static void kpl_session_finish(struct kpl_session *s)
{
	kpl_sessions_remove(s);
	kpl_session_end(s);
	cancel_work_sync(&s->orphaned);
	kpl_reader_leave(s);
	kpl_wake_leave(s);
	cancel_delayed_work_sync(&s->overloaded);
	kpl_session_free(s);
}

/* The module's exit waits for its workers. */
static void kpl_session_released(struct work_struct *work)
{
	kpl_session_finish(container_of(work, struct kpl_session, released));
	module_put(THIS_MODULE);
}

/* Who ends it just now has the lock: then it has not ended yet. */
static bool kpl_is_ended(struct kpl_session *s)
{
	bool ended = false;

	if (mutex_trylock(&s->lock)) {
		ended = s->closed;
		mutex_unlock(&s->lock);
	}
	return ended;
}

/*
 * Whoever closes the last descriptor: a process that it was sent to, or the kernel's worker for all
 * files that its threads close.  What takes long is not theirs to wait for.
 */
void kpl_session_release(struct kpl_session *s)
{
	if (!kpl_must_not_wait() && (kpl_is_opener(s) || kpl_is_ended(s))) {
		kpl_session_finish(s);
		return;
	}
	kpl_session_stop(s);
	kpl_grow_end_all(s);		/* the device's inode may go before the worker is there */
	__module_get(THIS_MODULE);	/* the file's goes with it */
	queue_work(kpl_waiters, &s->released);
}

/* ------------------------------------------------------------------- begins */

static int kpl_session_fill(struct kpl_session *s)
{
	s->cpu = alloc_percpu_gfp(struct kpl_session_cpu, KPL_GFP_PERCPU);
	if (!s->cpu)
		return -ENOMEM;
	s->live = s->cpu;
	return kpl_scratch_reserve(s, 0);
}

/* Open files are opened one after the other: waits for nobody's session. */
struct kpl_session *kpl_session_open(void)
{
	struct kpl_session *s;
	int err;

	/* There must be a process whose end can be seen. */
	if (current->flags & PF_KTHREAD)
		return ERR_PTR(-EPERM);
	s = kvzalloc(sizeof(*s), KPL_GFP);
	if (!s)
		return ERR_PTR(-ENOMEM);
	err = kpl_charge(s, kpl_session_memory());
	if (err) {
		kvfree(s);
		return ERR_PTR(err);
	}
	mutex_init(&s->lock);
	mutex_init(&s->maps_lock);
	mutex_init(&s->unpaid);
	init_waitqueue_head(&s->wait);
	kpl_wake_begin(s);
	INIT_WORK(&s->orphaned, kpl_session_orphaned);
	INIT_WORK(&s->released, kpl_session_released);
	kpl_reader_begin(s);
	INIT_DELAYED_WORK(&s->overloaded, kpl_probes_overloaded);
	s->share = KPL_DEFAULT_SHARE;
	xa_init_flags(&s->maps, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&s->progs, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&s->probes, XA_FLAGS_ACCOUNT);
	s->opener = get_task_pid(current, PIDTYPE_TGID);
	s->opener_nr = pid_nr(s->opener);
	kpl_log_opener(s);
	err = kpl_session_fill(s);
	if (!err && !kpl_sessions_add(s))
		err = -EUSERS;
	if (err) {
		kpl_session_free(s);
		return ERR_PTR(err);
	}
	return s;
}

/* --------------------------------------------------------------------- file */

__poll_t kpl_session_poll(struct kpl_session *s, struct file *file, poll_table *table)
{
	__poll_t events = 0;

	poll_wait(file, &s->wait, table);
	if (READ_ONCE(s->closed))
		events |= EPOLLHUP;
	if (READ_ONCE(s->exiting) || atomic64_read(&s->stops) != READ_ONCE(s->stops_seen) ||
	    atomic_read(&s->overloads) != READ_ONCE(s->overloads_seen) || kpl_rings_ready(s))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

/* mmap_lock is held: s->lock must not be taken. */
int kpl_session_mmap(struct kpl_session *s, struct vm_area_struct *vma)
{
	u64 off = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 rest = off & ((1ull << KPL_OFF_SHIFT) - 1);

	if (READ_ONCE(s->closing))
		return -ESHUTDOWN;
	switch (off >> KPL_OFF_SHIFT) {
	case KPL_OFF_CTL:
		return kpl_ring_mmap_ctl(s, vma, rest);
	case KPL_OFF_DATA:
		return kpl_ring_mmap_data(s, vma, rest);
	case KPL_OFF_SPARE_CTL:
		return kpl_ring_mmap_spare(s, vma, rest, true);
	case KPL_OFF_SPARE_DATA:
		return kpl_ring_mmap_spare(s, vma, rest, false);
	case KPL_OFF_MAP:
		return kpl_map_mmap(s, vma, rest);
	}
	return -EINVAL;
}

int kpl_session_info(struct kpl_session *s, struct kpl_info *info)
{
	u64 stops = atomic64_read(&s->stops), hits = 0, own = 0;
	u32 overloads = atomic_read_acquire(&s->overloads);	/* before the states */
	u32 exiting = smp_load_acquire(&s->exiting);	/* before its code */
	u32 cpu;

	for_each_possible_cpu(cpu) {
		hits += READ_ONCE(per_cpu_ptr(s->cpu, cpu)->hits);
		own += READ_ONCE(per_cpu_ptr(s->cpu, cpu)->own_hits);
	}
	*info = (struct kpl_info) {
		.abi = KPL_ABI_VERSION,
		.nr_cpus = nr_cpu_ids,
		.features = kpl_native_feature() | KPL_FEATURE_KRETPROBE |
			    kpl_ftrace_feature() | kpl_direct_feature() |
			    kpl_change_feature(),
		.abi_hash = KPL_ABI_HASH,
		.exiting = exiting,
		.exit_code = exiting ? s->exit_code : 0,
		.stops = stops,
		.memory = atomic64_read(&s->memory),
		.memory_all = kpl_memory_held(),
		.memory_limit = kpl_memory_limit(),
		.work_done = READ_ONCE(s->work_done),
		.work_total = READ_ONCE(s->work_total),
		.overloads = overloads,
		.dead = READ_ONCE(s->dead),
		.hits_about = hits,
		.hits_own = own,
		.lost_without = kpl_rings_lost_without(s),
		.refused = kpl_refused(),
	};
	if (kpl_is_opener(s)) {
		WRITE_ONCE(s->heard, jiffies);
		WRITE_ONCE(s->stops_seen, stops);
		WRITE_ONCE(s->overloads_seen, overloads);
		/* One that came meanwhile has taken its like for told. */
		smp_mb();
		if (atomic64_read(&s->stops) != stops)
			kpl_session_wake(s);
	}
	return 0;
}

/* What programs use, and what probes run, stays. */
static int kpl_free_map(struct kpl_session *s, u32 id)
{
	if (!kpl_map_get(s, id))
		return -EINVAL;
	if (kpl_progs_use_map(s, id))
		return -EBUSY;
	kpl_map_drop(s, id);
	return 0;
}

static int kpl_free_prog(struct kpl_session *s, u32 id)
{
	const struct kpl_prog *prog = kpl_prog_get(s, id);

	if (!prog)
		return -EINVAL;
	if (!kpl_probes_leave(s, prog))
		return -EBUSY;
	kpl_prog_drop(s, id);
	return 0;
}

int kpl_free(struct kpl_session *s, struct kpl_free *arg)
{
	int err = kpl_check_free(arg);

	if (err)
		return err;
	return arg->kind == KPL_FREE_MAP ? kpl_free_map(s, arg->id) : kpl_free_prog(s, arg->id);
}
