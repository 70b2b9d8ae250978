/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A hit: the state of the handler that runs on a CPU, and the counting of how
 * it ended.  Everything here runs with preemption off, in any context.
 */
#ifndef KPL_HIT_H
#define KPL_HIT_H

#include <linux/cgroup.h>
#include <linux/percpu.h>
#include <linux/sched.h>

#include "core/core.h"

struct kpl_probe;
struct kpl_prog;
struct kpl_ring;
struct kpl_session;

/* How a hit ended, and what happened on the way.  One cache line for each CPU. */
enum kpl_count {
	KPL_C_HANDLED,
	KPL_C_SKIPPED,
	KPL_C_MISSED,
	KPL_C_FAULT,
	KPL_C_ERROR,
	KPL_C_OVERRUN,
	KPL_C_TRUNCATED,	/* strings cut at their limit */
	KPL_C_DECLINED,		/* entry handler wanted no return */
	KPL_C_END
};

struct kpl_counters {
	u64 n[KPL_C_END];
};

/* The two sides of a probe: pre and post handler, or entry and return. */
enum kpl_side {
	KPL_SIDE_FIRST,
	KPL_SIDE_SECOND,
	KPL_SIDES
};

struct kpl_outcomes {
	struct kpl_counters side[KPL_SIDES];
} __aligned(64);

/*
 * One for each CPU.  `busy` is the guard: it is set by whoever runs a handler,
 * of any session; a hit that finds it set is missed.  Plain accesses do:
 * whatever interrupts between them leaves the guard as it found it.
 */
struct kpl_ctx {
	union {
		u32 begun;		/* 1, in one store: busy, and nothing else yet */
		struct {
			u8 busy;
			u8 reads_user;	/* user memory was read: its tables are there */
			u16 faults;	/* bad addresses that this handler has met */
		};
	};
	s32 until;			/* hits to the next one that is timed: overload.c */
	bool entered;			/* this return instance's entry handler ran */
	const struct kpl_probe *probe;	/* for handlers that look */
	struct kpl_ring *ring;		/* that has the pending record */
	u64 span;			/* of kernel addresses that are read: memory.c */
	struct kpl_hit hit;
};

DECLARE_PER_CPU(struct kpl_ctx, kpl_ctx);

static __always_inline struct kpl_ctx *kpl_ctx_of(u64 hit)
{
	return container_of((struct kpl_hit *)hit, struct kpl_ctx, hit);
}

/* Guard for user space's accesses; preemption is off in between. */
struct kpl_ctx *kpl_guard_get(void);
void kpl_guard_put(struct kpl_ctx *ctx);

/* Prepares the hit's fields that all kinds of handlers have. */
void kpl_hit_prepare(struct kpl_ctx *ctx, const struct kpl_probe *pr, struct pt_regs *regs);

/*
 * The id of the current task's cgroup, without asking whether RCU watches: it
 * may not, on a CPU that comes up or goes down.  Preemption is off, so the set
 * can't go away.
 */
static __always_inline u64 kpl_current_cgroup(void)
{
#ifdef CONFIG_CGROUPS
	return cgroup_id(rcu_dereference_raw(current->cgroups)->dfl_cgrp);
#else
	return 0;
#endif
}

void kpl_hit_init(void);

/* A helper failed: what and where. */
static __always_inline void kpl_fail(u64 hit, u32 reason, u64 addr)
{
	struct kpl_hit *h = (struct kpl_hit *)hit;

	h->status = reason;
	h->bad_addr = addr;
}

/* The helpers, by id; the engines call them. */
#define HELPER(id, name, ...) \
	u64 kpl_h_##name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
#include "uapi/helpers.def"
#undef HELPER

/* Ours alone: what a loaded program calls in the place of agg_add. */
enum {
	KPL_H_ADD_NUMBER = KPL_H_END_,
	KPL_H_ADD_HIST,
	KPL_HELPERS
};

u64 kpl_h_add_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
u64 kpl_h_add_hist(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);

extern const kpl_helper_fn kpl_helpers[KPL_HELPERS];

#endif
