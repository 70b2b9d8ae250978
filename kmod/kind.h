/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A probe, and what a kind of probe is. */
#ifndef KPL_KIND_H
#define KPL_KIND_H

#include <linux/kprobes.h>

#include "core/args.h"
#include "guard.h"
#include "prog.h"
#include "session.h"

#define KPL_HANDLERS	3	/* of a probe, in the order of kpl_attach.prog */
#define KPL_HANDLER_FAULT	2	/* of a kprobe */

/* What a hit at an ftrace probe takes. */
enum kpl_way {
	KPL_WAY_ADDS,		/* its handler is expanded */
	KPL_WAY_BRIEF,		/* that does not look at all of the hit */
	KPL_WAY_STATUS,		/* that reads memory, and looks at no more */
	KPL_WAY_LOOK,
	KPL_WAY_AROUND,		/* not a pre handler alone, or one with a `when`, or that reads the ip */
};

struct kpl_probe {
	struct kretprobe rp;	/* first: what a hit brings is the probe; a kprobe is its rp.kp */

	/* Read at each hit. */
	struct kpl_origin origin;
	struct kpl_handler handler[KPL_HANDLERS];
	struct kpl_when when;

	/* An ftrace probe's. */
	enum kpl_way way;
	struct kpl_probe *same;	/* the next armed one at this function in the same trace */
	struct kpl_trace *trace;
	unsigned long site;	/* where ftrace calls from */
	struct list_head in_list;	/* of the trace's; or of all tracepoints' */
	bool armed;		/* hits find it */
	bool was_armed;		/* before the operation under way */
	bool gone;		/* with the code, or data, that it stood at */

	/* A return probe's by direct calls; `site` and `gone`, too. */
	struct kpl_direct *direct;
	u32 direct_at;		/* place in its list */
	u32 stack_args;		/* words of arguments that lie on the stack */
	enum kpl_why why;	/* not by direct calls, but a kretprobe */
	/* A tracepoint's; it has `armed`, `gone` and `in_list`, too. */
	void *hit;		/* what the tracepoint calls */

	/* A clock's, a counter's or a watchpoint's; it has `armed` and `gone`, too. */
	struct kpl_events *events;
	u64 period;		/* these three: as in struct kpl_attach */
	u32 event;
	u32 len;
	u64 seen;		/* what the last hit saw */

	/* One in a process. */
	struct kpl_uprobe *user;
	u64 semaphore;		/* these two: as in struct kpl_attach */
	u32 fd;

	/* A kretprobe's. */
	struct kpl_pool *pool;	/* of its instances: kretprobe.c */

	/* A kprobe's or return probe's; it has `armed`, too. */
	kprobe_pre_handler_t hook;	/* what the kernel calls while it is armed */
	bool stuck;		/* the kernel can't disarm it, and keeps it for good */
	u64 missed;		/* by the kernel, while it was armed, up to when it was disarmed */
	u64 missed_off;		/* the kernel's count when it was armed */

	/* Under the session's lock. */
	const struct kpl_probe_ops *ops;
	u32 crowd;		/* what it has joined its place with, and must leave it with */
	u64 crowd_at;		/* that place */
	bool added;		/* registered with the kernel */
	bool hold;		/* not to be armed when attached */
	bool else_kprobe;	/* is a kprobe, or a kretprobe, where ftrace will not do */
	bool listed;		/* in the group of the operation under way */
	u32 maxactive;
	u64 charged;
	u64 held;		/* part of it: until it is detached */
	int error;		/* of the operation under way */
};

static_assert(!offsetof(struct kpl_probe, rp) && !offsetof(struct kpl_probe, rp.kp));

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
	struct kpl_attach_rules rules;
	bool changes;			/* its programs may change what runs */
	/*
	 * Where its breakpoint stands, or its semaphore, is user space's word: in
	 * the middle of an instruction it changes what every process does that maps
	 * the file.  So it takes CAP_SYS_ADMIN, as the kernel asks of perf's.
	 */
	bool writes_to_others;
	/* enum kpl_prog_kind of each handler; KPL_PROG_KINDS: there is none. */
	u8 kinds[KPL_HANDLERS];
	/* What it needs beside the probe itself, in bytes; or NULL. */
	u64 (*memory)(const struct kpl_attach *a, const struct kpl_prog **progs);
	void (*run[KPL_OPS])(struct kpl_probe **prs, u32 nr);
	/* Of one that is not added (any more), more than once, too; its stats are still asked for.  Or NULL. */
	void (*free)(struct kpl_probe *pr);
	enum kpl_probe_state (*state)(struct kpl_probe *pr);
	void (*stats)(struct kpl_probe *pr, struct kpl_probe_stats *out);
};

/* What it needed beside itself is no longer there. */
static inline void kpl_held_back(struct kpl_probe *pr)
{
	kpl_uncharge(pr->origin.session, pr->held);
	pr->charged -= pr->held;
	pr->held = 0;
}

/* A step of the attach call under way is done, for those who watch. */
static inline void kpl_step(const struct kpl_probe *pr)
{
	struct kpl_session *s = pr->origin.session;

	WRITE_ONCE(s->work_done, s->work_done + 1);
}

static inline bool kpl_interrupted(const struct kpl_probe *pr)
{
	return kpl_session_interrupted(pr->origin.session);
}

#endif
