/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Programs: loaded, verified, rewritten, made native. */
#ifndef KPL_PROG_H
#define KPL_PROG_H

#include <linux/bitmap.h>

#include "hit.h"

struct bpf_prog;
struct kpl_sites;

/* Both engines: r0 of a run. */
typedef u64 (*kpl_run_fn)(const void *hit, const struct bpf_insn *insns);

struct kpl_prog {
	kpl_run_fn run;
	const struct bpf_insn *insns;
	struct bpf_prog *native;	/* NULL: interpreted */
	struct bpf_insn *code;		/* interpreted: ours */
	u32 *places;			/* of instructions in the native code; NULL: not kept */
	struct kpl_sites *sites;	/* where it has stopped */
	u32 kind;
	u32 nr_insns;			/* as loaded */
	u32 data_size;
	bool full_regs;			/* reads others than those that ftrace always keeps */
	bool reads_ip;
	enum kpl_looks looks;
	DECLARE_BITMAP(maps, KPL_MAX_MAPS);	/* that its code names, by id */
	u64 charged;
};

/* A program in its place at a probe: what a hit needs of it. */
struct kpl_handler {
	kpl_run_fn run;			/* NULL: there is none */
	const struct bpf_insn *insns;
	const struct kpl_prog *prog;
	enum kpl_looks looks;
};

static inline struct kpl_handler kpl_handler_of(const struct kpl_prog *prog)
{
	if (!prog)
		return (struct kpl_handler) {};
	return (struct kpl_handler) { prog->run, prog->insns, prog, prog->looks };
}

static __always_inline u64 kpl_handler_call(const struct kpl_handler *handler, struct kpl_hit *hit)
{
	return handler->run(hit, handler->insns);
}

void kpl_prog_init(void);
u64 kpl_features(void);
void kpl_progs_free(struct kpl_session *s);
struct kpl_prog *kpl_prog_get(struct kpl_session *s, u32 id);
int kpl_prog_drop(struct kpl_session *s, u32 id);
bool kpl_progs_use_map(struct kpl_session *s, u32 map);

int kpl_prog_load(struct kpl_session *s, struct kpl_prog_load *arg);
int kpl_prog_run(struct kpl_session *s, struct kpl_prog_run *arg);
int kpl_prog_sites(struct kpl_session *s, struct kpl_prog_sites *arg);
int kpl_prog_native(struct kpl_session *s, struct kpl_prog_native *arg);

/* native.c; process context.  NULL where there is no native code to be had. */
struct bpf_prog *kpl_native_make(const struct bpf_insn *insns, u32 nr, u32 stack_depth, bool places);
void kpl_native_free(struct bpf_prog *fp);
/* Turns where instructions went in `insns` into offsets in the native code; takes `out_pc`. */
u32 *kpl_native_places(struct bpf_prog *fp, u32 *out_pc, u32 nr);

/* stop.c: where and why programs stopped */
struct kpl_sites *kpl_sites_alloc(u32 nr_insns);
void kpl_sites_free(struct kpl_sites *sites);
u64 kpl_sites_memory(u32 nr_insns);

/*
 * A program ended with something other than KPL_RET_DONE: remembers where and
 * why, and says how to count it (KPL_C_*; KPL_C_DECLINED for KPL_RET_SKIP).
 * Any context, preemption off.
 */
enum kpl_count kpl_stop(const struct kpl_ctx *ctx, struct kpl_session *s,
			const struct kpl_prog *prog, u64 result);

#endif
