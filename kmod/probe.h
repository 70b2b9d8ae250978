/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Probes: attached in batches, counted for each CPU. */
#ifndef KPL_PROBE_H
#define KPL_PROBE_H

#include <linux/kprobes.h>

#include "hit.h"
#include "prog.h"
#include "session.h"

#define KPL_HANDLERS	3	/* of a probe, in the order of kpl_attach.prog */
#define KPL_HANDLER_FAULT	2	/* of a kprobe */

struct kpl_probe {
	struct kretprobe rp;	/* first: what a hit brings is the probe; a kprobe is its rp.kp */

	/* Read at each hit. */
	struct kpl_session *session;
	struct kpl_session_cpu __percpu *const *live;	/* the session's; NULL there: not to run */
	struct kpl_session_cpu __percpu *cpu;	/* the session's */
	struct kpl_outcomes __percpu *outcomes;
	struct kpl_handler handler[KPL_HANDLERS];
	u64 func, addr;
	struct kpl_when when;

	/* An ftrace probe's. */
	bool around;		/* not a pre handler alone, or one with a `when`, or that reads the ip */
	struct kpl_trace *trace;
	struct kpl_probe *same;	/* the next armed one at this function in the same trace */
	unsigned long site;	/* where ftrace calls from */
	u32 trace_at;		/* place in the trace's list */
	bool armed;		/* hits find it */
	bool gone;		/* with the code that it stood in */

	/* A kprobe's or return probe's. */
	kprobe_pre_handler_t hook;	/* what the kernel calls while it is armed */
	bool stuck;		/* the kernel can't disarm it, and keeps it for good */

	/* Set at a hit: overload.c. */
	u64 serial;		/* of all sessions' probes; never 0 */
	u32 overload;		/* enum kpl_overload_state */
	u32 overload_cpu;
	u32 overload_percent;	/* of that CPU, taken by this probe */

	/* Under the session's lock. */
	const struct kpl_probe_ops *ops;
	bool added;		/* registered with the kernel */
	bool hold;		/* not to be armed when attached */
	bool else_kprobe;	/* is one where ftrace has no site */
	bool listed;		/* in the group of the operation under way */
	u32 maxactive;
	u64 charged;
	int error;		/* of the operation under way */
};

static_assert(!offsetof(struct kpl_probe, rp) && !offsetof(struct kpl_probe, rp.kp));

static __always_inline const struct kpl_probe *kpl_probe_of(struct kprobe *kp)
{
	return container_of(kp, struct kpl_probe, rp.kp);
}

enum kpl_probe_op {
	KPL_OP_ADD,	/* register, not armed */
	KPL_OP_ARM,
	KPL_OP_DISARM,
	KPL_OP_REMOVE,	/* of added ones; can't fail; no handler starts any more */
	KPL_OPS
};

/*
 * A kind of probe.  Each operation takes `nr` probes of its kind and sets
 * `error` in each.  Process context.
 */
struct kpl_probe_ops {
	u32 kind;			/* enum kpl_probe_kind */
	u32 flags;			/* KPL_ATTACH_F_* that it alone takes */
	u32 maxactive;			/* the most; 0: has no instances */
	/* enum kpl_prog_kind of each handler; KPL_PROG_KINDS: there is none. */
	u8 kinds[KPL_HANDLERS];
	/* What it needs beside the probe itself, in bytes; or NULL. */
	u64 (*memory)(const struct kpl_attach *a, const struct kpl_prog **progs);
	void (*run[KPL_OPS])(struct kpl_probe **prs, u32 nr);
	void (*free)(struct kpl_probe *pr);	/* of one that is not added (any more); or NULL */
	enum kpl_probe_state (*state)(struct kpl_probe *pr);
	void (*stats)(struct kpl_probe *pr, struct kpl_probe_stats *out);
};

extern const struct kpl_probe_ops kpl_kprobe_ops, kpl_kretprobe_ops, kpl_ftrace_ops;

/* What the kinds share. */

/* A step of the attach call under way is done, for those who watch. */
static inline void kpl_step(const struct kpl_probe *pr)
{
	WRITE_ONCE(pr->session->work_done, pr->session->work_done + 1);
}

int kpl_check_place(u64 addr, bool returns);
void kpl_kprobe_arm(struct kpl_probe **prs, u32 nr);
void kpl_kprobe_disarm(struct kpl_probe **prs, u32 nr);
u32 kpl_kprobes_off(struct kpl_probe **prs, u32 nr);
int kpl_sites_known(unsigned long *sites, u32 nr);
enum kpl_probe_state kpl_kprobe_state(struct kpl_probe *pr);
static inline bool kpl_interrupted(const struct kpl_probe *pr)
{
	return kpl_session_interrupted(pr->session);
}

void kpl_counts_read(struct kpl_probe *pr, enum kpl_side side, struct kpl_counts *out);
/* Hits that the kernel itself did not deliver. */
static inline void kpl_counts_miss(struct kpl_counts *counts, u64 nr)
{
	counts->hits += nr;
	counts->missed += nr;
}

u64 kpl_counter_read(struct kpl_probe *pr, enum kpl_side side, enum kpl_count counter);
u64 kpl_ftrace_feature(void);
int kpl_ftrace_init(void);
void kpl_ftrace_exit(void);

/* hit.c: what the kernel calls at a hit. */
int kpl_hit_pre(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_pre_when(struct kprobe *kp, struct pt_regs *regs);
void kpl_hit_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
int kpl_hit_around(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_nothing(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_call(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_call_entry(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_call_when(struct kprobe *kp, struct pt_regs *regs);

/* Chooses a return probe's functions: those that prepare no more than its handlers look at. */
void kpl_hit_handlers(struct kpl_probe *pr);

/* Process context; before the first probe that calls it is armed. */
void kpl_hook_return_set(kprobe_pre_handler_t hook);

/*
 * Waits until no handler runs that started before: preemption is off in all of
 * them, and those that RCU does not see, in the idle loop, have interrupts off.
 */
void kpl_hits_drain(void);

int kpl_attach(struct kpl_session *s, struct kpl_attach_batch *arg);
int kpl_control(struct kpl_session *s, struct kpl_control *arg);
int kpl_stats(struct kpl_session *s, struct kpl_stats *arg);

/* Detaches every probe of the session. */
void kpl_detach_all(struct kpl_session *s);
void kpl_probes_free(struct kpl_session *s);

/* Makes the probe that stands in for a real one in test runs. */
int kpl_probe_dry(struct kpl_session *s);

#endif
