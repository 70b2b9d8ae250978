// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a session has of its own: rights, its lock, memory within the limit
 * that all sessions share.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/args.h"
#include "session.h"

/* ------------------------------------------------------------------- rights */

int kpl_capable(void)
{
	return capable(CAP_SYS_ADMIN) || (capable(CAP_PERFMON) && capable(CAP_BPF)) ? 0 : -EPERM;
}

int kpl_probing_allowed(void)
{
	return security_locked_down(LOCKDOWN_KPROBES);
}

int kpl_session_lock(struct kpl_session *s)
{
	/* Its end must not find others before it at the lock again and again. */
	if (READ_ONCE(s->closing))
		return -ESHUTDOWN;
	if (mutex_lock_interruptible(&s->lock))
		return -ERESTARTSYS;
	if (!READ_ONCE(s->closing))
		return 0;
	mutex_unlock(&s->lock);
	return -ESHUTDOWN;
}

void *kpl_copy_in(struct kpl_session *s, u64 user, u32 nr, size_t size)
{
	size_t bytes = array_size(nr, size);
	void *copy;
	int err = s ? kpl_charge(s, bytes) : 0;

	if (err)
		return ERR_PTR(err);
	copy = kvmalloc(bytes, KPL_GFP);
	if (copy && !copy_from_user(copy, u64_to_user_ptr(user), bytes))
		return copy;
	err = copy ? -EFAULT : -ENOMEM;
	kvfree(copy);
	if (s)
		kpl_uncharge(s, bytes);
	return ERR_PTR(err);
}

void kpl_copy_free(struct kpl_session *s, const void *copy, u32 nr, size_t size)
{
	if (!copy)
		return;
	kvfree(copy);
	if (s)
		kpl_uncharge(s, array_size(nr, size));
}

/* ------------------------------------------------------------------- memory */

static unsigned int kpl_memory_percent = 25;
module_param_named(memory_percent, kpl_memory_percent, uint, 0644);
MODULE_PARM_DESC(memory_percent, "Part of the memory that all sessions together may hold");

/* What must be left for everybody else: 1/32 of the memory. */
#define KPL_SPARE_SHARE	32

static atomic64_t kpl_held;	/* bytes, of all sessions */

u64 kpl_memory_held(void)
{
	return atomic64_read(&kpl_held);
}

u64 kpl_memory_limit(void)
{
	u64 percent = min(READ_ONCE(kpl_memory_percent), 100u);

	return (u64)totalram_pages() * PAGE_SIZE / 100 * percent;
}

bool kpl_memory_there(u64 bytes)
{
	long spare = si_mem_available() - totalram_pages() / KPL_SPARE_SHARE;

	return spare > 0 && bytes / PAGE_SIZE < spare;
}

int kpl_charge_shared(u64 bytes)
{
	s64 held = atomic64_read(&kpl_held);
	u64 limit = kpl_memory_limit();

	do {
		if (held > limit || bytes > limit - held)
			return -EDQUOT;
	} while (!atomic64_try_cmpxchg(&kpl_held, &held, held + bytes));
	if (kpl_memory_there(bytes))
		return 0;
	kpl_uncharge_shared(bytes);
	return -ENOMEM;
}

void kpl_uncharge_shared(u64 bytes)
{
	atomic64_sub(bytes, &kpl_held);
}

int kpl_charge(struct kpl_session *s, u64 bytes)
{
	int err = kpl_charge_shared(bytes);

	if (!err)
		atomic64_add(bytes, &s->memory);
	return err;
}

void kpl_uncharge(struct kpl_session *s, u64 bytes)
{
	atomic64_sub(bytes, &s->memory);
	kpl_uncharge_shared(bytes);
}

void kpl_charge_leave(struct kpl_session *s, u64 bytes)
{
	atomic64_sub(bytes, &s->memory);
}

/* -------------------------------------------------------------- all sessions */

/*
 * The end of any process walks the list.  The lock is raw: it is taken where a
 * task exits, with preemption off.
 */
static LIST_HEAD(kpl_sessions);
static u32 kpl_sessions_nr;
static DEFINE_RAW_SPINLOCK(kpl_sessions_lock);

bool kpl_sessions_add(struct kpl_session *s)
{
	unsigned long flags;
	bool room;

	raw_spin_lock_irqsave(&kpl_sessions_lock, flags);
	room = kpl_sessions_nr < KPL_MAX_SESSIONS;
	if (room) {
		list_add(&s->list, &kpl_sessions);
		kpl_sessions_nr++;
	}
	raw_spin_unlock_irqrestore(&kpl_sessions_lock, flags);
	return room;
}

void kpl_sessions_remove(struct kpl_session *s)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&kpl_sessions_lock, flags);
	list_del(&s->list);
	kpl_sessions_nr--;
	raw_spin_unlock_irqrestore(&kpl_sessions_lock, flags);
}

void kpl_sessions_each(void (*fn)(struct kpl_session *s, void *arg), void *arg)
{
	struct kpl_session *s;
	unsigned long flags;

	if (list_empty(&kpl_sessions))
		return;
	raw_spin_lock_irqsave(&kpl_sessions_lock, flags);
	list_for_each_entry(s, &kpl_sessions, list)
		fn(s, arg);
	raw_spin_unlock_irqrestore(&kpl_sessions_lock, flags);
}

/* ------------------------------------------------------------------ workers */

struct workqueue_struct *kpl_jobs, *kpl_waiters;

/* Process context. */
int kpl_session_init(void)
{
	kpl_jobs = alloc_workqueue("kprobe_lua", WQ_UNBOUND, 0);
	if (!kpl_jobs)
		return -ENOMEM;
	kpl_waiters = alloc_workqueue("kprobe_lua_waits", WQ_UNBOUND, 0);
	if (kpl_waiters)
		return 0;
	destroy_workqueue(kpl_jobs);
	return -ENOMEM;
}

/* Process context; waits for what runs. */
void kpl_session_exit(void)
{
	destroy_workqueue(kpl_waiters);
	destroy_workqueue(kpl_jobs);
}

/* ------------------------------------------------------------------- others */

/* Unless it is watched already. */
void kpl_reader_watch(struct kpl_session *s)
{
	queue_delayed_work(kpl_waiters, &s->reader, KPL_READER_PERIOD * HZ);
}

/*
 * A CPU that is on its way off, or not yet on, takes no interrupt for what it
 * queues: that would never run, and the session's end would wait for it.  Nor
 * does the last one while the machine sleeps.  Who sees that CPU gone, or there,
 * or the machine awake, wakes the session: wake.c.
 */
void kpl_session_wake(struct kpl_session *s)
{
	smp_mb();	/* kpl_wake_timed() */
	if (unlikely(!cpu_online(raw_smp_processor_id()) || system_state == SYSTEM_SUSPEND))
		WRITE_ONCE(s->wake_late, true);
	else if (!READ_ONCE(s->wake_timed))
		irq_work_queue(&s->wake);
}

/* A thread's own number is no process. */
int kpl_pid(struct kpl_session *s, struct kpl_pid *arg)
{
	struct pid *pid;
	int err = kpl_check_pid(arg);

	if (err)
		return err;
	err = -ESRCH;
	rcu_read_lock();
	pid = find_vpid(arg->pid);
	if (pid && pid_task(pid, PIDTYPE_TGID)) {
		arg->pid = pid_nr(pid);
		err = 0;
	}
	rcu_read_unlock();
	return err;
}
