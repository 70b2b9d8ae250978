/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A session: what one open file of the device owns. */
#ifndef KPL_SESSION_H
#define KPL_SESSION_H

#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "uapi/kprobe_lua.h"

struct kpl_probe;
struct kpl_ring;
struct kpl_rings;
struct kpl_scratch;

/*
 * For all that sessions hold: charged to the caller's cgroup, and refused
 * where the kernel would have to kill somebody for it.  Per-CPU allocations
 * know fewer flags.
 */
#define KPL_GFP		(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)
/*
 * The same under one of the module's own locks.  Whose cgroup is over memory.high,
 * the kernel has wait in what it charges to it, and all others would wait for the lock.
 */
#define KPL_GFP_SHARED	(KPL_GFP & ~__GFP_ACCOUNT)
#define KPL_GFP_PERCPU	(GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN)

/* What handlers need of their session, for each CPU. */
struct kpl_session_cpu {
	void *scratch;
	struct kpl_ring *ring;
	u64 hits, own_hits;		/* by those that are timed; of the opener: overload.c */
	u64 rested_in, rested;		/* a window, and what its disabled probes took in it: ditto */
};

/* Of a session's rings. */
struct kpl_ring_sums {
	u64 read;		/* bytes, as user space says */
	u64 lost;		/* records */
	bool waits;		/* there are records that were not read */
};

struct kpl_session {
	/* Read at each hit: `cpu`, or NULL after a handler called exit(). */
	struct kpl_session_cpu __percpu *live;
	struct kpl_session_cpu __percpu *cpu;

	u32 exiting;
	s32 exit_code;
	atomic_t exit_claimed;
	u32 share;			/* percent of each CPU, KPL_SHARE_OFF: any */
	atomic_t overloads;		/* probes that took more */
	u32 overloads_seen;		/* by user space */
	u32 overloads_done;		/* and disarmed */
	atomic64_t stops;		/* handlers stopped */
	u64 stops_seen;			/* by user space */
	struct irq_work wake;		/* hits can't wake a task themselves */
	struct hrtimer wake_timer;	/* what comes too soon after another one */
	bool wake_timed;		/* that is under way, and wakes for all until then */
	u64 woke;			/* at that time, as of ktime_get_mono_fast_ns() */
	bool wake_late;			/* asked for on a CPU that takes no interrupts */
	struct work_struct rouse;	/* where interrupts can't wake a task, either */
	wait_queue_head_t wait;

	struct pid *opener;		/* a process; constant */
	pid_t opener_nr;		/* its number, as the initial namespace has it */
	struct list_head list;		/* of all sessions */
	char name[KPL_TITLE_SIZE];	/* these are printable; log.c */
	char command[TASK_COMM_LEN];
	uid_t user;			/* who opened it */
	struct delayed_work reader;	/* looks whether user space still reads: reader.c */
	unsigned long heard;		/* jiffies, of the opener */
	u32 dead_man;			/* seconds without a word, or 0 */
	struct kpl_ring_sums sums_seen;	/* at the last look */
	bool dead;			/* for so long that all was detached */
	bool read_told, waits_told;	/* that nobody reads; ever */
	bool arm_told;
	struct work_struct orphaned;	/* closes the session after its opener's end */
	struct work_struct released;	/* ends it where its file's last user must not wait */
	struct delayed_work overloaded;	/* disarms the probes that took more than the share */
	bool overload_waits;		/* for the lock: the next call does that first */
	bool closing;			/* calls are refused, those under way stop soon */
	atomic64_t memory;		/* bytes held */

	/*
	 * Everything below; process context.  User space's memory is never
	 * touched with it held: that may take for ever.
	 */
	struct mutex lock;
	bool closed;			/* disarmed for good */

	/* By id.  The lowest free one is taken; probes keep theirs until the session is freed. */
	struct xarray maps, progs, probes;
	struct mutex unpaid;		/* of a call whose list is in no account */
	struct mutex maps_lock;		/* of mmap, which can't take the lock, against a map's end */
	u32 nr_maps, nr_probes;		/* ids are below */
	struct kpl_probe **room;	/* for operations on all probes: two lists of */
	u32 room_nr;			/* so many */

	struct kpl_rings *rings;	/* or NULL */
	struct kpl_scratch *scratch;
	u32 rights;			/* KPL_RIGHT_*: change.c */
	u32 work_done, work_total;	/* of an attach; read without the lock */
};

/* 0 when the calling task may do so, or the errno. */
int kpl_capable(void);
int kpl_probing_allowed(void);	/* the kernel is not locked down */
static inline bool kpl_is_opener(const struct kpl_session *s)
{
	return task_tgid(current) == s->opener;
}

/* Interruptible; -ESHUTDOWN when the session is closed.  Process context. */
int kpl_session_lock(struct kpl_session *s);
/* What took long was the opener's being at work, too. */
static inline void kpl_session_unlock(struct kpl_session *s)
{
	if (kpl_is_opener(s))
		WRITE_ONCE(s->heard, jiffies);
	mutex_unlock(&s->lock);
}

/* Whether a long operation must stop: somebody waits for its end. */
static inline bool kpl_session_interrupted(const struct kpl_session *s)
{
	return signal_pending(current) || READ_ONCE(s->closing);
}

/*
 * A copy of an array of user space's; an ERR_PTR on failure.  The caller holds
 * no lock: user space may keep it here for as long as it wants.  With a session
 * it is accounted.
 */
void *kpl_copy_in(struct kpl_session *s, u64 user, u32 nr, size_t size);
void kpl_copy_free(struct kpl_session *s, const void *copy, u32 nr, size_t size);

/*
 * Accounts memory before it is allocated; -EDQUOT over what all sessions may
 * hold, -ENOMEM when the machine has not enough.
 */
int kpl_charge(struct kpl_session *s, u64 bytes);
void kpl_uncharge(struct kpl_session *s, u64 bytes);
/* What outlives the session that it was charged to: all hold it from now on. */
void kpl_charge_leave(struct kpl_session *s, u64 bytes);
/* What may outlive the session that it was made for is not put to any. */
int kpl_charge_shared(u64 bytes);
void kpl_uncharge_shared(u64 bytes);
/*
 * Whether so much can be had without taking it from others.  An estimate: what it misses fails at
 * the allocation, whose flags forbid more; what the kernel allocates itself is asked for right before.
 */
bool kpl_memory_there(u64 bytes);
u64 kpl_memory_held(void);	/* by all sessions */
u64 kpl_memory_limit(void);

#define KPL_READER_PERIOD	10	/* seconds between two looks whether user space still reads */

/* From now on there are looks, by reader.c.  Process context. */
void kpl_reader_watch(struct kpl_session *s);

/* All that are open.  Process context.  False: there are as many as there may be. */
bool kpl_sessions_add(struct kpl_session *s);
void kpl_sessions_remove(struct kpl_session *s);
/* Calls `fn` for each, with interrupts off.  Process context, or preemption off. */
void kpl_sessions_each(void (*fn)(struct kpl_session *s, void *arg), void *arg);

/*
 * Workers of ours, in two queues: a queue runs so many at once, and those that
 * wait for a session's lock must leave room for those that its holder waits for.
 */
extern struct workqueue_struct *kpl_jobs;	/* that wait for no session */
extern struct workqueue_struct *kpl_waiters;	/* that may wait for a session's lock */

int kpl_session_init(void);
void kpl_session_exit(void);	/* there is no session any more */

/* Wakes pollers.  Any context. */
void kpl_session_wake(struct kpl_session *s);

int kpl_pid(struct kpl_session *s, struct kpl_pid *arg);

/*
 * Offsets for mmap: the kind of area, then index * stride.  2^44 in all, what
 * a 32-bit process can express; a file offset never overflows.
 */
#define KPL_OFF_SHIFT	41
#define KPL_OFF_CTL	1ull
#define KPL_OFF_DATA	2ull
#define KPL_OFF_MAP	3ull
#define KPL_OFF_SPARE_CTL	4ull
#define KPL_OFF_SPARE_DATA	5ull
#define KPL_SPARE_STRIDE	((1ull << KPL_OFF_SHIFT) / KPL_MAX_SPARES)
#define KPL_MAP_STRIDE	(1ull << (KPL_OFF_SHIFT - 8))
#define KPL_OFF(kind, index, stride)	((kind) << KPL_OFF_SHIFT | (u64)(index) * (stride))

#endif
