/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The parts of the module that also compile in user space: verifier, rewriter
 * and interpreter of handler bytecode.  They call nothing of the kernel's but
 * what core/compat.h maps, allocate nothing and keep no state: the caller owns
 * every buffer.
 */
#ifndef KPL_CORE_H
#define KPL_CORE_H

#include "compat.h"	/* u8..u64, struct bpf_insn, errno: kernel's or user space's */
#include "../uapi/kprobe_lua.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the verifier must know of a map. */
struct kpl_map_desc {
	u32 kind;		/* enum kpl_map_kind */
	u32 key_size;
	u32 value_size;
};

struct kpl_verify_ws;		/* working memory; see kpl_verify_ws_size() */

/* One verification: what goes in, and what is known afterwards. */
struct kpl_verify {
	/* in */
	const struct bpf_insn *insns;
	const struct kpl_label *labels;
	const struct kpl_map_desc *maps;
	u32 nr_insns, nr_labels, nr_maps;
	u32 kind;		/* enum kpl_prog_kind */
	u32 data_size, scratch_size;
	u32 budget;		/* 0: the default */
	u32 regs_size;		/* sizeof(struct pt_regs) of the architecture */
	u32 max_record;		/* limit of fixed part and tail together; 0: no ring */
	u64 regs_write;		/* bit i: may store to the 8 bytes at 8 * i of struct pt_regs */
	u32 moves;		/* KPL_MOVE_*: what it may do */
	struct kpl_verify_ws *ws;
	/* out */
	u32 cost;		/* each instruction once, helpers at their worst */
	u32 fuel;		/* budget - cost: what loops may spend */
	u32 stack_depth;	/* bytes used below r10, a multiple of 8 */
	u32 reject;		/* enum kpl_reject, when -EACCES is returned */
	u32 reject_pc;
	u32 has_loops;
	u32 emits;		/* writes ring records */
	u32 looks;		/* enum kpl_looks: at how much of the hit */
	u64 regs_read;		/* bit i: may load the 8 bytes at 8 * i of struct pt_regs */
	u64 regs_written;	/* likewise */
	u32 moved;		/* KPL_MOVE_*: what it may do */
	u32 nr_targets;		/* where it may go to */
	u64 targets[KPL_MAX_TARGETS];
};

#define KPL_MOVE_OVERRIDE	1u	/* the function returns at once */
#define KPL_MOVE_GO_TO		2u

/*
 * What a session's rights permit a program of `v->kind`.  `writable`: the
 * machine's registers that handlers may change, `ret` the one of them with the
 * return value; bits as in regs_write.
 */
static inline void kpl_verify_rights(struct kpl_verify *v, u32 rights, u64 writable, u64 ret)
{
	u32 change = rights & KPL_RIGHT_CHANGE;

	v->moves = 0;
	v->regs_write = 0;
	if (v->kind == KPL_PROG_PRE && rights)
		v->moves = change ? KPL_MOVE_OVERRIDE | KPL_MOVE_GO_TO : KPL_MOVE_OVERRIDE;
	if (v->kind == KPL_PROG_PRE && change)
		v->regs_write = writable;
	if (v->kind == KPL_PROG_RET && change)
		v->regs_write = ret;
}

/* Bytes of working memory for a program; at most about 700 KB. */
size_t kpl_verify_ws_size(u32 nr_insns);

/*
 * One linear pass.  0; -EACCES with `reject` set; never anything else.
 * Process context (the time is linear in the length of the program).
 */
int kpl_verify(struct kpl_verify *v);

/* Worst cost of instruction `pc`, helpers included, of a program that was accepted. */
u32 kpl_insn_cost(const struct kpl_verify *v, u32 pc);

/*
 * Writes the program with its guards (division, fuel) to `out`: KPL_MAX_SLOTS
 * slots suffice for any program.  `v` is as an accepting kpl_verify() left it.
 * `out_pc`, if not NULL, has nr_insns elements and receives where each
 * instruction went, guards first.
 * 0, or -EACCES with KPL_REJECT_EXPANSION when `max` slots do not suffice.
 */
int kpl_rewrite(struct kpl_verify *v, struct bpf_insn *out, u32 max, u32 *nr_out, u32 *out_pc);

/*
 * The aggregation that the instruction at `pc` updates, or -1 for any other;
 * `out_pc` is where the call went.  After kpl_rewrite().
 */
s32 kpl_agg_of_call(const struct kpl_verify *v, u32 pc, u32 *out_pc);

#define KPL_MAX_SLOTS	(4 * KPL_MAX_INSNS + 1)	/* of a rewritten program */

/* Replaces each load of a map by the 64-bit value that the helpers take: values[id]. */
void kpl_bind_maps(struct bpf_insn *insns, u32 nr_insns, const u64 *values);

typedef u64 (*kpl_helper_fn)(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);

/*
 * Runs a rewritten program whose maps are bound; r0.  Calls are by helper id:
 * `helpers` has KPL_H_END_ elements.  Any context.
 */
u64 kpl_interpret(const struct bpf_insn *insns, struct kpl_hit *hit,
		  const kpl_helper_fn *helpers);

/* The same on a stack of the caller's: `fp` is its end, 8-byte aligned. */
u64 kpl_interpret_on(const struct bpf_insn *insns, struct kpl_hit *hit,
		     const kpl_helper_fn *helpers, void *fp);

/*
 * How a run of a program of `nr_insns` instructions, as loaded, has ended: its
 * r0 if that is KPL_RET_DONE, KPL_RET_SKIP from an entry handler, or a
 * KPL_RET_STOP() at one of them for a reason of stops.def; anything else is
 * KPL_RET_STOP(KPL_STOP_RESULT, 0).
 */
u32 kpl_ending(u32 kind, u32 nr_insns, u64 r0);

/* ------------------------------------------------------------------- tables */

/* What a helper takes; helpers.def explains each. */
enum kpl_arg {
	KPL_A_UNUSED = 0,
	KPL_A_NUM, KPL_A_CONST, KPL_A_HIT, KPL_A_AGG, KPL_A_NAMES, KPL_A_HASH, KPL_A_KEY, KPL_A_VAL, KPL_A_OUT,
	KPL_A_RMEM, KPL_A_WMEM, KPL_A_STR, KPL_A_WSTR, KPL_A_LIST, KPL_A_REC,
	KPL_A_END_
};

enum kpl_result {
	KPL_R_NUM, KPL_R_REC_OR_NULL, KPL_R_VOID, KPL_R_DONE,
};

/* How much of the hit a program or a helper looks at: no more is filled in for it. */
enum kpl_looks {
	KPL_LOOKS_NOWHERE,
	KPL_LOOKS_AT_CALL,	/* registers and instance data */
	KPL_LOOKS_AT_STATUS,	/* and whether a read failed */
	KPL_LOOKS_AT_ALL,
};

enum kpl_effect {
	KPL_EFFECT_SAME,	/* none, and the result is the same for the whole of a hit */
	KPL_EFFECT_RESULT,	/* none but the result */
	KPL_EFFECT_ACTS,
};

/* A row of helpers.def. */
struct kpl_helper_desc {
	const char *name;	/* NULL: no such helper */
	u8 result;		/* enum kpl_result */
	u8 arg[5];		/* enum kpl_arg, of r1 to r5 */
	u8 looks;		/* enum kpl_looks */
	u8 effect;		/* enum kpl_effect */
	u8 bits;		/* of the result that may be set */
	u16 cost;
	u16 word;		/* for each 8 bytes */
};

/* A row of hit.def. */
struct kpl_hit_desc {
	const char *name;
	u16 off, size;		/* in struct kpl_hit */
	u8 type;		/* enum kpl_reg_type */
	u8 kinds;		/* bit k: programs of kind k may load it */
	u8 looks;		/* enum kpl_looks */
	u8 changes;		/* while the handler runs */
};

enum kpl_agg_slots { KPL_SLOTS_NONE, KPL_SLOTS_POWERS, KPL_SLOTS_STEPS };

enum kpl_agg_shows {
	KPL_SHOWS_N, KPL_SHOWS_SUM, KPL_SHOWS_AVERAGE, KPL_SHOWS_MIN, KPL_SHOWS_MAX,
	KPL_SHOWS_WORDS, KPL_SHOWS_SLOTS,
};

/* A row of aggs.def. */
struct kpl_agg_desc {
	const char *name;
	u8 holds;		/* KPL_AGG_* */
	u8 slots;		/* enum kpl_agg_slots */
	u8 shows;		/* enum kpl_agg_shows */
};

/* How the fields of an instruction are used. */
enum kpl_form {
	KPL_F_BAD = 0,		/* no such opcode in the profile */
	KPL_F_ALU_K, KPL_F_ALU_X, KPL_F_NEG, KPL_F_SWAP, KPL_F_LDX, KPL_F_ST, KPL_F_STX,
	KPL_F_LD64, KPL_F_JA, KPL_F_JCC_K, KPL_F_JCC_X, KPL_F_CALL, KPL_F_EXIT,
	KPL_F_END_
};

extern const struct kpl_helper_desc kpl_helper_descs[KPL_H_END_];
extern const struct kpl_agg_desc kpl_agg_descs[KPL_MAP_HASH];
extern const struct kpl_hit_desc kpl_hit_descs[];
extern const u32 kpl_nr_hit_descs;
extern const u8 kpl_insn_forms[256];	/* enum kpl_form of each opcode */

/*
 * A function that kernel developers marked for error injection, by its symbol;
 * else KPL_RETURNS_ANY.  `module`: the loadable one that it is in, or "".
 */
u32 kpl_returns_of(const char *function, const char *module);
/* Whether it is meant to return that. */
int kpl_returns_fit(u32 returns, s64 value);

const char *kpl_reject_text(u32 reject);
const char *kpl_stop_text(u32 stop);

#ifdef __cplusplus
}
#endif
#endif
