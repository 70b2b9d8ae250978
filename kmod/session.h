/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A session: what one open file of the device owns. */
#ifndef KPL_SESSION_H
#define KPL_SESSION_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "uapi/kprobe_lua.h"

struct kpl_probe;
struct kpl_ring;
struct kpl_scratch;

/* What handlers need of their session, for each CPU. */
struct kpl_session_cpu {
	void *scratch;
	struct kpl_ring *ring;
};

struct kpl_session {
	/* Read at each hit: `cpu`, or NULL after a handler called exit(). */
	struct kpl_session_cpu __percpu *live;
	struct kpl_session_cpu __percpu *cpu;

	u32 exiting;
	s32 exit_code;
	atomic_t exit_claimed;
	atomic64_t stops;		/* handlers stopped */
	u64 stops_seen;			/* by user space */
	struct irq_work wake;		/* hits can't wake a task themselves */
	wait_queue_head_t wait;

	struct list_head list;		/* of all sessions */
	struct mutex lock;		/* everything below; process context */
	bool closed;			/* disarmed for good */
	struct mm_struct *mm;		/* the opener's; constant, pinned */
	pid_t tgid;			/* the opener */
	struct mmu_notifier mn;		/* tells when the opener is gone */
	atomic64_t memory;		/* bytes held */

	/* By id.  The lowest free one is taken; probes keep theirs until the session is freed. */
	struct xarray maps, progs, probes;
	struct mutex maps_lock;		/* of mmap, which can't take the lock, against a map's end */
	u32 nr_maps, nr_probes;		/* ids are below */

	struct kpl_ring *rings;		/* nr_cpu_ids, or NULL */
	u32 ring_size;
	struct kpl_scratch *scratch;
	struct kpl_probe *dry;		/* stands for the probe in KPL_IOC_PROG_RUN */
	u32 work_done, work_total;	/* of an attach; read without the lock */
};

struct kpl_session *kpl_session_open(void);
void kpl_session_release(struct kpl_session *s);

/* Calls the function for each session, its lock held. */
void kpl_sessions_each(void (*fn)(struct kpl_session *s, void *arg), void *arg);

/* Ends the session's activity for good; any number of times. */
void kpl_session_close(struct kpl_session *s);

/* 0 when the calling task is the opener and has the rights, or the errno. */
int kpl_session_permit(const struct kpl_session *s);
int kpl_capable(void);

/* Accounts memory before it is allocated; -ENOMEM over the limit. */
int kpl_charge(struct kpl_session *s, u64 bytes);
void kpl_uncharge(struct kpl_session *s, u64 bytes);

/* Gives each CPU at least `size` bytes of scratch memory. */
int kpl_session_scratch(struct kpl_session *s, u32 size);

/* Wakes pollers.  Any context. */
void kpl_session_wake(struct kpl_session *s);

__poll_t kpl_session_poll(struct kpl_session *s, struct file *file, poll_table *table);
int kpl_session_mmap(struct kpl_session *s, struct vm_area_struct *vma);
int kpl_session_info(struct kpl_session *s, struct kpl_info *info);
int kpl_pid(struct kpl_session *s, struct kpl_pid *arg);
int kpl_free(struct kpl_session *s, struct kpl_free *arg);

/*
 * Offsets for mmap: the kind of area, then index * stride.  2^44 in all, what
 * a 32-bit process can express; a file offset never overflows.
 */
#define KPL_OFF_SHIFT	41
#define KPL_OFF_CTL	1ull
#define KPL_OFF_DATA	2ull
#define KPL_OFF_MAP	3ull
#define KPL_MAP_STRIDE	(1ull << (KPL_OFF_SHIFT - 8))
#define KPL_OFF(kind, index, stride)	((kind) << KPL_OFF_SHIFT | (u64)(index) * (stride))

#endif
