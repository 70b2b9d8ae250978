// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Edges of the program: jumps, fall-through, and how states flow along them. */
#include "verify.h"

static const struct kpl_label *label_at(const struct kpl_verify *v, u32 pc)
{
	u32 nr = v->ws->node[pc].label;

	return nr ? &v->labels[nr - 1] : NULL;
}

/* The state at `pc`, before its instruction.  Reasons are reported at the edge. */
int kpl_enter(struct kpl_verify *v, u32 pc)
{
	struct kpl_verify_ws *ws = v->ws;
	const struct kpl_label *label = label_at(v, pc);
	const struct kpl_node *node = &ws->node[pc];

	if (!ws->alive && !node->reached)
		return kpl_refuse_at(v, KPL_REJECT_UNREACHABLE, pc);
	if (label) {
		/* Jumps to here have been checked where they are. */
		if (ws->alive && !kpl_state_satisfies(&ws->cur, label))
			return kpl_refuse(v, KPL_REJECT_STATE);
		kpl_state_from_label(&ws->cur, label);
	} else if (!ws->alive) {
		ws->cur = node->in;
	} else if (node->reached && !kpl_state_join(&ws->cur, &node->in)) {
		return kpl_refuse(v, KPL_REJECT_RECORD);
	}
	ws->alive = 1;
	ws->pc = pc;
	return 0;
}

/* A jump from ws->pc by `off` in state `s`. */
static int jump(struct kpl_verify *v, s32 off, const struct kpl_state *s, int conditional)
{
	struct kpl_verify_ws *ws = v->ws;
	s32 target = (s32)ws->pc + 1 + off;
	const struct kpl_label *label;
	struct kpl_node *node;

	if (target < 0 || target >= (s32)v->nr_insns)
		return kpl_refuse(v, KPL_REJECT_JUMP);
	node = &ws->node[target];
	label = label_at(v, target);
	if (target <= (s32)ws->pc) {
		if (conditional || !label)
			return kpl_refuse(v, KPL_REJECT_BACK_JUMP);
		v->has_loops = 1;
	}
	if (label && !kpl_state_satisfies(s, label))
		return kpl_refuse(v, KPL_REJECT_STATE);
	if (target <= (s32)ws->pc)
		return 0;

	if (!node->reached) {
		node->reached = 1;
		node->from = ws->pc;
		node->in = *s;
	} else if (!label && !kpl_state_join(&node->in, s)) {
		return kpl_refuse(v, KPL_REJECT_RECORD);
	}
	return 0;
}

int kpl_check_ja(struct kpl_verify *v, const struct bpf_insn *insn)
{
	int err = jump(v, insn->off, &v->ws->cur, 0);

	v->ws->alive = 0;
	return err;
}

/* The test of a record that may be NULL: one edge has it, on the other there is none. */
static int split_record(struct kpl_verify *v, const struct bpf_insn *insn)
{
	struct kpl_state *null = &v->ws->taken, *record = &v->ws->cur;

	if (insn->imm)
		return kpl_refuse(v, KPL_REJECT_POINTER);
	if (insn->code == (BPF_JMP | BPF_JNE | BPF_K)) {
		null = &v->ws->cur;
		record = &v->ws->taken;
	} else if (insn->code != (BPF_JMP | BPF_JEQ | BPF_K)) {
		return kpl_refuse(v, KPL_REJECT_POINTER);
	}
	kpl_state_retype(record, KPL_T_REC_OR_NULL, KPL_T_REC);
	record->rec = KPL_REC_TESTED;
	kpl_state_retype(null, KPL_T_REC_OR_NULL, KPL_T_NUM);
	null->rec = KPL_REC_NONE;
	null->rec_size = 0;
	return 0;
}

int kpl_check_jcc(struct kpl_verify *v, const struct bpf_insn *insn)
{
	struct kpl_verify_ws *ws = v->ws;
	u32 dst = kpl_reg_read(&ws->cur, insn->dst_reg).type;
	int err;

	ws->taken = ws->cur;
	if (dst == KPL_T_REC_OR_NULL) {
		err = split_record(v, insn);
		if (err)
			return err;
	} else if (dst != KPL_T_NUM) {
		return kpl_refuse(v, KPL_REJECT_POINTER);
	}
	if (kpl_insn_forms[insn->code] == KPL_F_JCC_X &&
	    kpl_reg_read(&ws->cur, insn->src_reg).type != KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_POINTER);
	return jump(v, insn->off, &ws->taken, 1);
}
