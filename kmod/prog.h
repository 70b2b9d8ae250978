/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Programs: loaded, verified, rewritten, made native.  Process context. */
#ifndef KPL_PROG_H
#define KPL_PROG_H

#include <linux/bitmap.h>

#include "core/core.h"
#include "session.h"

struct bpf_prog;
struct kpl_origin;
struct kpl_sites;

/* Both engines: r0 of a run. */
typedef u64 (*kpl_run_fn)(const void *hit, const struct bpf_insn *insns);

/* What a program does that only adds a number to an aggregation without a key; `value` is NULL: it does more. */
struct kpl_adds {
	u64 *__percpu *value;		/* of the active bank */
	u64 n;
};

struct kpl_prog {
	kpl_run_fn run;
	const struct bpf_insn *insns;
	struct bpf_prog *native;	/* NULL: interpreted */
	struct bpf_insn *code;		/* interpreted: ours */
	u32 *starts;			/* of instructions in the native code; NULL: not kept */
	struct kpl_sites *sites;	/* where it has stopped */
	u32 kind;
	u32 nr_insns;			/* as loaded */
	u32 data_size;
	u32 most;			/* what a run may take of its budget */
	bool full_regs;			/* reads others than those that ftrace always keeps */
	bool reads_ip;			/* or walks the stack from there on */
	bool writes;			/* registers */
	u32 moved;			/* KPL_MOVE_* */
	u32 nr_targets;			/* where it may go to */
	u64 targets[KPL_MAX_TARGETS];
	u64 regs_read;			/* as in struct kpl_verify */
	enum kpl_looks looks;		/* AT_ALL in the place of AT_STATUS */
	bool status_alone;		/* it was AT_STATUS */
	struct kpl_adds adds;
	DECLARE_BITMAP(maps, KPL_MAX_MAPS);	/* that its code names, by id */
	u64 charged;
};

/* A program in its place at a probe: what a hit needs of it. */
struct kpl_handler {
	kpl_run_fn run;			/* NULL: there is none */
	const struct bpf_insn *insns;
	const struct kpl_prog *prog;
	struct kpl_origin *origin;	/* its probe's, which its time is put to */
	enum kpl_looks looks;
	struct kpl_adds adds;
};

static inline struct kpl_handler kpl_handler_of(const struct kpl_prog *prog,
						struct kpl_origin *origin)
{
	if (!prog)
		return (struct kpl_handler) {};
	return (struct kpl_handler) { prog->run, prog->insns, prog, origin, prog->looks,
				      prog->adds };
}

static __always_inline u64 kpl_handler_call(const struct kpl_handler *handler, struct kpl_hit *hit)
{
	return handler->run(hit, handler->insns);
}

void kpl_progs_free(struct kpl_session *s);
struct kpl_prog *kpl_prog_get(struct kpl_session *s, u32 id);
/* Of one that is there; no probe may run it. */
void kpl_prog_drop(struct kpl_session *s, u32 id);
bool kpl_progs_use_map(struct kpl_session *s, u32 map);

int kpl_prog_load(struct kpl_session *s, struct kpl_prog_load *arg);
int kpl_prog_sites(struct kpl_session *s, struct kpl_prog_sites *arg);
int kpl_prog_native(struct kpl_session *s, struct kpl_prog_native *arg);

#endif
