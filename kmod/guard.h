/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The guard: one handler at a time on each CPU, and what it and its helpers
 * know of the hit.  Everything here runs with preemption off, in any context,
 * unless it says otherwise.
 */
#ifndef KPL_GUARD_H
#define KPL_GUARD_H

#include <linux/percpu.h>

#include "core/core.h"
#include "session.h"

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
	KPL_C_MOVED = KPL_C_DECLINED,	/* pre handler had it go on elsewhere */
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

#define kpl_count(origin, which_side, counter) \
	this_cpu_inc((origin)->outcomes->side[which_side].n[counter])

/* Where a hit comes from: what handlers, helpers and accounts need of a probe. */
struct kpl_origin {
	/* Set at a hit: overload.c. */
	u64 serial;		/* of all sessions' probes; never 0 */
	u32 overload;		/* enum kpl_overload_state */
	u32 overload_cpu;
	u32 overload_percent;	/* of that CPU, taken by this probe */

	/* Read at each hit. */
	struct kpl_session *session;
	struct kpl_session_cpu __percpu *const *live;	/* the session's; NULL there: not to run */
	struct kpl_session_cpu __percpu *cpu;	/* the session's */
	struct kpl_outcomes __percpu *outcomes;
	u64 func, addr;
	u32 line;		/* of the script; or 0 */
	u32 returns;		/* KPL_RETURNS_*: all that override() may give there */
	bool entry;		/* in a program, where a function begins */
	bool dry;		/* no hit: its registers are what user space says */
};

/* What a walk of the stack may begin with. */
enum kpl_regs_are {
	KPL_REGS_PROBED,	/* before a kprobe's instruction, the first byte of which counts as run */
	KPL_REGS_EXACT,
	KPL_REGS_CALLER,	/* an address, and the frame of what was called from there: perf's */
};

/* What a tracepoint passes, behind the frame of the function that it called. */
struct kpl_values {
	const void *frame;		/* __builtin_frame_address(0) */
	u64 of[];
};

static inline const struct kpl_values *kpl_values_of(u64 data)
{
	return (void *)(unsigned long)(data - offsetof(struct kpl_values, of));
}

/*
 * One for each CPU.  `origin` is the guard: it is set by whoever runs a
 * handler, of any session; a hit that finds it set is missed.  Plain accesses
 * do: whatever interrupts between them leaves the guard as it found it.
 */
struct kpl_ctx {
	const struct kpl_origin *origin;	/* whose handler runs; NULL: none */
	union {
		u64 state;		/* 0 at first; of handlers that look at all */
		struct {
			u8 reads_user;	/* user memory was read: its tables are there */
			u8 faults;	/* bad addresses that this handler has met */
			u8 moved;	/* it goes on elsewhere: change.c */
			u8 acted;	/* it has changed what others see */
		};
	};
	s32 until;			/* hits to the next one that is timed: kpl_countdown() */
	bool entered;			/* this return instance's entry handler ran */
	u8 regs_are;			/* enum kpl_regs_are */
	struct kpl_ring *ring;		/* that has the pending record */
	u64 span;			/* how many kernel addresses are read: memory.c */
	struct kpl_hit hit;
};

DECLARE_PER_CPU(struct kpl_ctx, kpl_ctx);

static __always_inline struct kpl_ctx *kpl_ctx_of(u64 hit)
{
	return container_of((struct kpl_hit *)hit, struct kpl_ctx, hit);
}

/* By way of the hit, whose address handlers are given: it need not be computed again. */
static __always_inline struct kpl_ctx *kpl_ctx_here(void)
{
	return container_of(this_cpu_ptr(&kpl_ctx.hit), struct kpl_ctx, hit);
}

/* What a handler that reads memory finds in the hit. */
static __always_inline void kpl_look_at_status(struct kpl_ctx *ctx)
{
	ctx->state = 0;
	ctx->hit.status = 0;
}

/* What one that looks at all of the hit finds there, but for its registers. */
static __always_inline void kpl_look(struct kpl_ctx *ctx, const struct kpl_origin *origin)
{
	kpl_look_at_status(ctx);
	ctx->hit.bad_addr = 0;
	ctx->hit.scratch = (unsigned long)this_cpu_read(origin->cpu->scratch);
	ctx->hit.func = origin->func;
	ctx->hit.addr = origin->addr;
}

/* A helper changes what others see: its handler can't be run again as if it had not run. */
static __always_inline void kpl_acts(u64 hit)
{
	kpl_ctx_of(hit)->acted = 1;
}

/* A helper failed: what and where. */
static __always_inline void kpl_fail(u64 hit, u32 reason, u64 addr)
{
	struct kpl_hit *h = (struct kpl_hit *)hit;

	h->status = reason;
	h->bad_addr = addr;
}

/* Each helper; the file of its kind defines it. */
#define HELPER(id, name, ...) \
	u64 kpl_h_##name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);
#include "uapi/helpers.def"
#undef HELPER

void kpl_guard_init(void);

/* Guard for what user space asks for, in the name of `origin`; preemption is off in between. */
struct kpl_ctx *kpl_guard_get(const struct kpl_origin *origin);
void kpl_guard_put(struct kpl_ctx *ctx);

/*
 * Waits until no handler runs that started before: preemption is off in all of
 * them, and those that RCU does not see, in the idle loop, have interrupts off
 * (where they would be on, there are no probes: place.c).
 * Process context.
 */
void kpl_hits_drain(void);

/* Gives each CPU at least `size` bytes of scratch memory.  Process context. */
int kpl_scratch_reserve(struct kpl_session *s, u32 size);
void kpl_scratch_free(struct kpl_session *s);

#endif
