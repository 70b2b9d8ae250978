/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What the verifier's files share.  Its interface is core.h. */
#ifndef KPL_CORE_VERIFY_H
#define KPL_CORE_VERIFY_H

#include "core.h"

#define KPL_NR_REGS	9		/* r0 to r8: what programs may write */
#define KPL_REG_FUEL	BPF_REG_9	/* the rewriter's */
#define KPL_REG_STACK	BPF_REG_10
#define KPL_MAX_OFF	(1 << 20)	/* of a pointer from its base, either way */

/* What is known of a register. */
struct kpl_reg {
	u8 type;	/* enum kpl_reg_type */
	u8 known;	/* NUM: val is its value */
	u16 unused;	/* 0 */
	s32 val;	/* NUM: the value if known, else 0; MAP: id; pointers: offset; else 0 */
};

/*
 * The pending ring record.  REC registers exist only in REC_TESTED, registers
 * of REC_OR_NULL only in REC_UNTESTED.
 */
enum kpl_rec_state { KPL_REC_NONE, KPL_REC_UNTESTED, KPL_REC_TESTED };

/* What is known at one point of the program. */
struct kpl_state {
	struct kpl_reg reg[KPL_NR_REGS];
	u16 rec_size;			/* fixed part of the record; 0 if there is none */
	u8 rec;				/* enum kpl_rec_state */
	u8 stack[KPL_MAX_STACK / 8];	/* bit b of [i]: r10 - 1 - (8 * i + b) is written */
};

/* One instruction of the program. */
struct kpl_node {
	struct kpl_state in;	/* joined states of the forward jumps to here, if `reached` */
	u32 cost;		/* of all instructions before this one, in program order */
	u32 out_pc;		/* kpl_rewrite: where it went */
	u16 label;		/* 1 + index of its declared state, 0: none */
	u16 from;		/* pc of the first jump to here */
	u16 agg;		/* 1 + id of the aggregation that this call updates, 0: none */
	u8 reached;		/* a forward jump leads here */
};

struct kpl_verify_ws {
	u32 pc;			/* of the instruction (or jump) being checked */
	u32 budget;
	u32 depth;		/* deepest stack byte used */
	u8 alive;		/* control falls through to the next instruction */
	struct kpl_state cur;
	struct kpl_state taken;	/* on the taken edge of a conditional jump */
	struct kpl_node node[];	/* nr_insns + 1 */
};

/* What the type of a pointer permits. */
#define KPL_P_ADD	1u	/* constants may be added */
#define KPL_P_LOAD	2u
#define KPL_P_STORE	4u
#define KPL_P_MEM	8u	/* helpers take it as memory */
#define KPL_P_STR	16u	/* helpers take it as struct kpl_str */
extern const u8 kpl_pointer_flags[KPL_T_END_];

/* Refuses the program: sets reason and place, returns -EACCES. */
int kpl_refuse(struct kpl_verify *v, u32 reason);
int kpl_refuse_at(struct kpl_verify *v, u32 reason, u32 pc);

/* verify_state.c */
void kpl_state_start(struct kpl_state *s);
void kpl_state_from_label(struct kpl_state *s, const struct kpl_label *label);
int kpl_state_satisfies(const struct kpl_state *s, const struct kpl_label *label);
int kpl_state_join(struct kpl_state *into, const struct kpl_state *s);
void kpl_state_retype(struct kpl_state *s, u32 from, u32 to);
void kpl_stack_write(struct kpl_state *s, s32 off, u32 size);
int kpl_stack_written(const struct kpl_state *s, s32 off, u32 size);
int kpl_check_labels(struct kpl_verify *v);

/* verify_mem.c */
int kpl_in_object(const struct kpl_verify *v, const struct kpl_reg *base, s64 off, s64 size);
void kpl_use_stack(struct kpl_verify *v, s32 off);
int kpl_check_ldx(struct kpl_verify *v, const struct bpf_insn *insn);
int kpl_check_store(struct kpl_verify *v, const struct bpf_insn *insn);

/* verify_jump.c */
int kpl_enter(struct kpl_verify *v, u32 pc);
int kpl_check_ja(struct kpl_verify *v, const struct bpf_insn *insn);
int kpl_check_jcc(struct kpl_verify *v, const struct bpf_insn *insn);

/* verify_call.c */
int kpl_check_call(struct kpl_verify *v, const struct bpf_insn *insn, u32 *cost);

/* The program looks at this much of the hit. */
static inline void kpl_looks_at(struct kpl_verify *v, u32 looks)
{
	if (looks > v->looks)
		v->looks = looks;
}

static inline struct kpl_reg kpl_reg_make(u32 type, s32 val)
{
	struct kpl_reg reg = { .type = type, .val = val };

	return reg;
}

static inline struct kpl_reg kpl_reg_const(s32 val)
{
	struct kpl_reg reg = { .type = KPL_T_NUM, .known = 1, .val = val };

	return reg;
}

/* r0 to r8, and r10 as the pointer that it always is. */
static inline struct kpl_reg kpl_reg_read(const struct kpl_state *s, u32 nr)
{
	return nr == KPL_REG_STACK ? kpl_reg_make(KPL_T_STACK, 0) : s->reg[nr];
}

#endif
