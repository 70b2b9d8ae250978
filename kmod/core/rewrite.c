// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Puts the guards into a verified program: what no check before the run can
 * give.  A division by zero has the result that RFC 9669 defines; shifts by
 * constants are masked; each backward jump pays for a worst repetition of what
 * it jumps over, and the program ends when the fuel in r9 does not suffice.
 */
#include "verify.h"

#define MAX_EXPANSION	4

static struct bpf_insn make(u8 code, u8 dst, u8 src, s16 off, s32 imm)
{
	struct bpf_insn insn = {
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm,
	};

	return insn;
}

/* x / 0 = 0 and x % 0 = x, in 32 bits zero-extended. */
static u32 guard_division(const struct bpf_insn *insn, struct bpf_insn *out)
{
	u32 wide = BPF_CLASS(insn->code) == BPF_ALU64;
	u32 jump = wide ? BPF_JMP : BPF_JMP32;
	u8 dst = insn->dst_reg;
	struct bpf_insn by_zero;

	by_zero = make((wide ? BPF_ALU64 : BPF_ALU) | BPF_MOV | BPF_X, dst, dst, 0, 0);
	if (BPF_OP(insn->code) == BPF_DIV)
		by_zero = make(BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, 0);
	if (BPF_SRC(insn->code) == BPF_K) {
		out[0] = insn->imm ? *insn : by_zero;
		return 1;
	}
	out[0] = make(jump | BPF_JNE | BPF_K, insn->src_reg, 0, 2, 0);
	out[1] = by_zero;
	out[2] = make(BPF_JMP | BPF_JA, 0, 0, 1, 0);
	out[3] = *insn;
	return 4;
}

static u32 mask_shift(const struct bpf_insn *insn, struct bpf_insn *out)
{
	out[0] = *insn;
	if (BPF_SRC(insn->code) == BPF_K)
		out[0].imm &= BPF_CLASS(insn->code) == BPF_ALU64 ? 63 : 31;
	return 1;
}

/* The jump back is taken while the fuel lasts; [1] is re-targeted by the caller. */
static u32 pay_for_loop(const struct kpl_verify *v, u32 pc, struct bpf_insn *out)
{
	const struct bpf_insn *insn = &v->insns[pc];
	s32 target = (s32)pc + 1 + insn->off;
	s32 cost = (s32)(v->ws->node[pc + 1].cost - v->ws->node[target].cost);

	out[0] = make(BPF_ALU64 | BPF_ADD | BPF_K, KPL_REG_FUEL, 0, 0, -cost);
	out[1] = make(BPF_JMP | BPF_JSGE | BPF_K, KPL_REG_FUEL, 0, insn->off, 0);
	out[2] = make(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0,
		      KPL_RET_STOP(KPL_STOP_BUDGET, pc));
	out[3] = make(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return 4;
}

/*
 * The instruction at `pc` with its guards; how many slots.  `jump` is the index
 * of the one that jumps where the instruction did, or -1.
 */
static u32 expand(const struct kpl_verify *v, u32 pc, struct bpf_insn out[MAX_EXPANSION], int *jump)
{
	const struct bpf_insn *insn = &v->insns[pc];

	*jump = -1;
	switch (kpl_insn_forms[insn->code]) {
	case KPL_F_ALU_K:
	case KPL_F_ALU_X:
		switch (BPF_OP(insn->code)) {
		case BPF_DIV:
		case BPF_MOD:
			return guard_division(insn, out);
		case BPF_LSH:
		case BPF_RSH:
		case BPF_ARSH:
			return mask_shift(insn, out);
		}
		break;
	case KPL_F_LD64:
		out[0] = insn[0];
		out[1] = insn[1];
		return 2;
	case KPL_F_JA:
		if (insn->off < 0) {
			*jump = 1;
			return pay_for_loop(v, pc, out);
		}
		*jump = 0;
		break;
	case KPL_F_JCC_K:
	case KPL_F_JCC_X:
		*jump = 0;
		break;
	}
	out[0] = *insn;
	return 1;
}

static u32 slots_of(const struct kpl_verify *v, u32 pc)
{
	return kpl_insn_forms[v->insns[pc].code] == KPL_F_LD64 ? 2 : 1;
}

/* Where each instruction goes; the length of the whole. */
static u32 lay_out(struct kpl_verify *v, u32 *out_pc)
{
	struct bpf_insn slots[MAX_EXPANSION];
	u32 pc, at = v->has_loops ? 1 : 0;
	int jump;

	for (pc = 0; pc < v->nr_insns; pc += slots_of(v, pc)) {
		v->ws->node[pc].out_pc = at;
		if (out_pc) {
			out_pc[pc] = at;
			out_pc[pc + slots_of(v, pc) - 1] = at + slots_of(v, pc) - 1;
		}
		at += expand(v, pc, slots, &jump);
	}
	return at;
}

int kpl_rewrite(struct kpl_verify *v, struct bpf_insn *out, u32 max, u32 *nr_out, u32 *out_pc)
{
	u32 pc, nr = lay_out(v, out_pc);

	if (nr > max)
		return kpl_refuse_at(v, KPL_REJECT_EXPANSION, 0);
	if (v->has_loops)
		out[0] = make(BPF_ALU64 | BPF_MOV | BPF_K, KPL_REG_FUEL, 0, 0, v->fuel);
	for (pc = 0; pc < v->nr_insns; pc += slots_of(v, pc)) {
		u32 at = v->ws->node[pc].out_pc;
		struct bpf_insn slots[MAX_EXPANSION];
		u32 n;
		int jump;

		n = expand(v, pc, slots, &jump);
		if (jump >= 0) {
			s32 target = (s32)pc + 1 + v->insns[pc].off;
			s32 off = (s32)v->ws->node[target].out_pc - ((s32)at + jump + 1);

			if (off < S16_MIN || off > S16_MAX)
				return kpl_refuse_at(v, KPL_REJECT_EXPANSION, pc);
			slots[jump].off = (s16)off;
		}
		memcpy(out + at, slots, n * sizeof(*out));
	}
	*nr_out = nr;
	return 0;
}

s32 kpl_agg_of_call(const struct kpl_verify *v, u32 pc, u32 *out_pc)
{
	const struct kpl_node *node = &v->ws->node[pc];

	*out_pc = node->out_pc;
	return (s32)node->agg - 1;
}

void kpl_bind_maps(struct bpf_insn *insns, u32 nr_insns, const u64 *values)
{
	u32 pc;

	for (pc = 0; pc < nr_insns; pc++) {
		u64 value;

		if (kpl_insn_forms[insns[pc].code] != KPL_F_LD64)
			continue;
		if (insns[pc].src_reg) {
			value = values[insns[pc].imm];
			insns[pc].src_reg = 0;
			insns[pc].imm = (s32)value;
			insns[pc + 1].imm = (s32)(value >> 32);
		}
		pc++;
	}
}
