// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The verifier: one pass over the instructions in program order.  At each, the
 * state that every way to it guarantees is known: the fall-through joined with
 * the forward jumps, or the declared state of a label.  No edge leads back to
 * an instruction without a label, so no second pass is needed.
 */
#include "verify.h"

size_t kpl_verify_ws_size(u32 nr_insns)
{
	return sizeof(struct kpl_verify_ws) + ((size_t)nr_insns + 1) * sizeof(struct kpl_node);
}

int kpl_refuse_at(struct kpl_verify *v, u32 reason, u32 pc)
{
	v->reject = reason;
	v->reject_pc = pc;
	return -EACCES;
}

int kpl_refuse(struct kpl_verify *v, u32 reason)
{
	return kpl_refuse_at(v, reason, v->ws->pc);
}

/* Which fields each form uses: the others must be zero. */
#define DST	1u	/* written */
#define SRC	2u
#define OFF	4u
#define IMM	8u
#define BASE	16u	/* dst is only read: r10 is allowed */

static const u8 form_fields[KPL_F_END_] = {
	[KPL_F_ALU_K]	= DST | IMM,
	[KPL_F_ALU_X]	= DST | SRC,
	[KPL_F_NEG]	= DST,
	[KPL_F_SWAP]	= DST | IMM,
	[KPL_F_LDX]	= DST | SRC | OFF,
	[KPL_F_ST]	= BASE | OFF | IMM,
	[KPL_F_STX]	= BASE | SRC | OFF,
	[KPL_F_LD64]	= DST | IMM,	/* src: what kind of constant, see check_ld64() */
	[KPL_F_JA]	= OFF,
	[KPL_F_JCC_K]	= BASE | OFF | IMM,
	[KPL_F_JCC_X]	= BASE | SRC | OFF,
	[KPL_F_CALL]	= IMM,
	[KPL_F_EXIT]	= 0,
};

/* Opcode, unused fields, and that the registers that are read hold something. */
static int check_shape(struct kpl_verify *v, const struct bpf_insn *insn, u32 form)
{
	const struct kpl_state *s = &v->ws->cur;
	u32 fields = form_fields[form];

	if (form == KPL_F_BAD)
		return kpl_refuse(v, KPL_REJECT_OPCODE);
	if (!(fields & (DST | BASE)) && insn->dst_reg)
		return kpl_refuse(v, KPL_REJECT_FIELD);
	if (!(fields & SRC) && insn->src_reg && form != KPL_F_LD64)
		return kpl_refuse(v, KPL_REJECT_FIELD);
	if ((!(fields & OFF) && insn->off) || (!(fields & IMM) && insn->imm))
		return kpl_refuse(v, KPL_REJECT_FIELD);

	if (insn->dst_reg > KPL_REG_STACK || insn->dst_reg == KPL_REG_FUEL)
		return kpl_refuse(v, KPL_REJECT_REGISTER);
	if ((fields & DST) && insn->dst_reg == KPL_REG_STACK)
		return kpl_refuse(v, KPL_REJECT_REGISTER);
	if ((fields & SRC) && (insn->src_reg > KPL_REG_STACK || insn->src_reg == KPL_REG_FUEL))
		return kpl_refuse(v, KPL_REJECT_REGISTER);

	if ((fields & SRC) && kpl_reg_read(s, insn->src_reg).type == KPL_T_NONE)
		return kpl_refuse(v, KPL_REJECT_UNINIT);
	if ((fields & BASE) && kpl_reg_read(s, insn->dst_reg).type == KPL_T_NONE)
		return kpl_refuse(v, KPL_REJECT_UNINIT);
	return 0;
}

static int check_mov(struct kpl_verify *v, const struct bpf_insn *insn, u32 form)
{
	struct kpl_reg *dst = &v->ws->cur.reg[insn->dst_reg];
	u32 wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct kpl_reg src;

	if (form == KPL_F_ALU_K)
		src = kpl_reg_const(insn->imm);
	else
		src = kpl_reg_read(&v->ws->cur, insn->src_reg);
	if (!wide && src.type != KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_POINTER);
	/* Zero extension makes another number of a negative one. */
	if (!wide && src.val < 0)
		src = kpl_reg_make(KPL_T_NUM, 0);
	*dst = src;
	return 0;
}

/* ALU instructions that read dst; what comes out is a number that is not known. */
static int check_alu(struct kpl_verify *v, const struct bpf_insn *insn, u32 form)
{
	struct kpl_reg *dst = &v->ws->cur.reg[insn->dst_reg];
	s64 off;

	if (form <= KPL_F_ALU_X && BPF_OP(insn->code) == BPF_MOV)
		return check_mov(v, insn, form);
	if (dst->type == KPL_T_NONE)
		return kpl_refuse(v, KPL_REJECT_UNINIT);
	if (form == KPL_F_SWAP && insn->imm != 16 && insn->imm != 32 && insn->imm != 64)
		return kpl_refuse(v, KPL_REJECT_FIELD);

	if (dst->type != KPL_T_NUM) {
		if (insn->code != (BPF_ALU64 | BPF_ADD | BPF_K) ||
		    !(kpl_pointer_flags[dst->type] & KPL_P_ADD))
			return kpl_refuse(v, KPL_REJECT_POINTER);
		off = (s64)dst->val + insn->imm;
		if (off < -KPL_MAX_OFF || off > KPL_MAX_OFF)
			return kpl_refuse(v, KPL_REJECT_RANGE);
		dst->val = off;
		return 0;
	}
	if (form == KPL_F_ALU_X && kpl_reg_read(&v->ws->cur, insn->src_reg).type != KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_POINTER);
	*dst = kpl_reg_make(KPL_T_NUM, 0);
	return 0;
}

/* src 0: a 64-bit number; src 1: a map. */
static int check_ld64(struct kpl_verify *v, const struct bpf_insn *insn)
{
	struct kpl_verify_ws *ws = v->ws;
	struct kpl_node *second = &ws->node[ws->pc + 1];

	if (insn->src_reg > 1)
		return kpl_refuse(v, KPL_REJECT_FIELD);
	if (ws->pc + 1 >= v->nr_insns)
		return kpl_refuse(v, KPL_REJECT_FALLS_OFF);
	if (second->reached)
		return kpl_refuse_at(v, KPL_REJECT_JUMP, second->from);
	if (second->label)
		return kpl_refuse_at(v, KPL_REJECT_LABEL, ws->pc + 1);
	if (insn[1].code || insn[1].dst_reg || insn[1].src_reg || insn[1].off)
		return kpl_refuse_at(v, KPL_REJECT_FIELD, ws->pc + 1);
	if (!insn->src_reg) {
		ws->cur.reg[insn->dst_reg] = kpl_reg_make(KPL_T_NUM, 0);
		return 0;
	}
	if (insn[1].imm)
		return kpl_refuse_at(v, KPL_REJECT_FIELD, ws->pc + 1);
	if ((u32)insn->imm >= v->nr_maps)
		return kpl_refuse(v, KPL_REJECT_MAP);
	ws->cur.reg[insn->dst_reg] = kpl_reg_make(KPL_T_MAP, insn->imm);
	return 0;
}

static int check_exit(struct kpl_verify *v)
{
	const struct kpl_state *s = &v->ws->cur;

	if (s->rec != KPL_REC_NONE)
		return kpl_refuse(v, KPL_REJECT_EXIT_RECORD);
	if (s->reg[0].type != KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_RESULT);
	v->ws->alive = 0;
	return 0;
}

static int check_insn(struct kpl_verify *v, const struct bpf_insn *insn, u32 form, u32 *cost)
{
	switch (form) {
	case KPL_F_ALU_K:
	case KPL_F_ALU_X:
	case KPL_F_NEG:
	case KPL_F_SWAP:
		return check_alu(v, insn, form);
	case KPL_F_LDX:
		return kpl_check_ldx(v, insn);
	case KPL_F_ST:
	case KPL_F_STX:
		return kpl_check_store(v, insn);
	case KPL_F_LD64:
		return check_ld64(v, insn);
	case KPL_F_JA:
		return kpl_check_ja(v, insn);
	case KPL_F_JCC_K:
	case KPL_F_JCC_X:
		return kpl_check_jcc(v, insn);
	case KPL_F_CALL:
		return kpl_check_call(v, insn, cost);
	case KPL_F_EXIT:
		return check_exit(v);
	}
	return kpl_refuse(v, KPL_REJECT_OPCODE);
}

static int check_limits(struct kpl_verify *v)
{
	if (!v->nr_insns || v->nr_insns > KPL_MAX_INSNS)
		return kpl_refuse_at(v, KPL_REJECT_LENGTH, 0);
	if (v->kind >= KPL_PROG_KINDS || v->budget > KPL_MAX_BUDGET ||
	    v->data_size > KPL_MAX_DATA || v->data_size % 8 ||
	    v->scratch_size > KPL_MAX_SCRATCH || v->scratch_size % 8 ||
	    v->max_record > KPL_MAX_RECORD || v->regs_size > 64 * 8)
		return kpl_refuse_at(v, KPL_REJECT_LIMIT, 0);
	return 0;
}

/* Room in the budget for an instruction at `pc`: the sum stays within KPL_MAX_BUDGET. */
static int charge(struct kpl_verify *v, u32 pc, u32 slots, u32 cost)
{
	struct kpl_verify_ws *ws = v->ws;
	u32 before = ws->node[pc].cost;

	if (cost > ws->budget - before)
		return kpl_refuse(v, KPL_REJECT_BUDGET);
	ws->node[pc + 1].cost = before + cost;
	ws->node[pc + slots].cost = before + cost;
	return 0;
}

static int check_program(struct kpl_verify *v)
{
	struct kpl_verify_ws *ws = v->ws;
	u32 pc, slots;
	int err;

	for (pc = 0; pc < v->nr_insns; pc += slots) {
		const struct bpf_insn *insn = &v->insns[pc];
		u32 form = kpl_insn_forms[insn->code];
		u32 cost = 1;

		slots = form == KPL_F_LD64 ? 2 : 1;
		err = kpl_enter(v, pc);
		if (err)
			return err;
		err = check_shape(v, insn, form);
		if (err)
			return err;
		err = check_insn(v, insn, form, &cost);
		if (err)
			return err;
		err = charge(v, pc, slots, cost);
		if (err)
			return err;
	}
	return ws->alive ? kpl_refuse(v, KPL_REJECT_FALLS_OFF) : 0;
}

int kpl_verify(struct kpl_verify *v)
{
	struct kpl_verify_ws *ws = v->ws;
	int err;

	v->cost = 0;
	v->fuel = 0;
	v->stack_depth = 0;
	v->reject = KPL_REJECT_NONE;
	v->reject_pc = 0;
	v->has_loops = 0;
	v->emits = 0;
	v->looks = KPL_LOOKS_NOWHERE;
	v->regs_read = 0;
	v->regs_written = 0;
	v->moved = 0;
	v->nr_targets = 0;

	err = check_limits(v);
	if (err)
		return err;
	memset(ws, 0, kpl_verify_ws_size(v->nr_insns));
	ws->budget = v->budget ? v->budget : KPL_DEFAULT_BUDGET;
	ws->alive = 1;
	kpl_state_start(&ws->cur);
	err = kpl_check_labels(v);
	if (err)
		return err;
	err = check_program(v);
	if (err)
		return err;

	v->cost = ws->node[v->nr_insns].cost;
	v->fuel = ws->budget - v->cost;
	v->stack_depth = (ws->depth + 7) & ~7u;
	return 0;
}

u32 kpl_insn_cost(const struct kpl_verify *v, u32 pc)
{
	return v->ws->node[pc + 1].cost - v->ws->node[pc].cost;
}
