// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Calls of helpers, as helpers.def describes them. */
#include "verify.h"

/* A memory argument: how it is used, and where its size comes from.  RMEM has none of these. */
#define STR	1u	/* pointer to a struct kpl_str: scratch or data only */
#define WRITE	2u	/* the helper writes all of it, whatever happens */
#define KEY	4u	/* size: the preceding map's keys */
#define VALUE	8u	/* size: the preceding map's values */
#define PART	16u	/* the helper goes through little of it */

static const u8 arg_flags[KPL_A_END_] = {
	[KPL_A_KEY]	= KEY,
	[KPL_A_VAL]	= VALUE,
	[KPL_A_OUT]	= VALUE | WRITE,
	[KPL_A_WMEM]	= WRITE,
	[KPL_A_STR]	= STR,
	[KPL_A_WSTR]	= STR | WRITE,
	[KPL_A_LIST]	= STR | WRITE | PART,
};

/* One call while it is checked. */
struct call {
	const struct kpl_helper_desc *desc;
	const struct kpl_map_desc *map;	/* the AGG, NAMES or HASH argument */
	u32 units;			/* 8 bytes each, of the memory arguments */
	s32 stack_off[5];		/* stack that the helper writes, per argument */
	u32 stack_size[5];		/* 0: none */
};

static int check_const(struct kpl_verify *v, const struct kpl_reg *reg, s32 low, s32 high)
{
	if (reg->type == KPL_T_NONE)
		return kpl_refuse(v, KPL_REJECT_UNINIT);
	if (reg->type != KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_ARGUMENT);
	if (!reg->known || reg->val < low || reg->val > high)
		return kpl_refuse(v, KPL_REJECT_CONSTANT);
	return 0;
}

/* Bytes of the memory argument `nr`. */
static int memory_size(struct kpl_verify *v, const struct call *call, u32 nr, u32 *size)
{
	const struct kpl_reg *next = &v->ws->cur.reg[1 + nr + 1];
	u32 flags = arg_flags[call->desc->arg[nr]];
	int err;

	if (flags & (KEY | VALUE)) {
		*size = flags & KEY ? call->map->key_size : call->map->value_size;
		return 0;
	}
	err = flags & STR ? check_const(v, next, 0, KPL_MAX_STR) :
			    check_const(v, next, 1, KPL_MAX_SCRATCH);
	if (!err)
		*size = flags & STR ? KPL_STR_SIZE(next->val) : (u32)next->val;
	return err;
}

static int check_memory(struct kpl_verify *v, struct call *call, u32 nr)
{
	const struct kpl_state *s = &v->ws->cur;
	const struct kpl_reg *reg = &s->reg[1 + nr];
	u32 flags = arg_flags[call->desc->arg[nr]];
	u32 size = 0;
	int err;

	err = memory_size(v, call, nr, &size);
	if (err)
		return err;
	if ((flags & KEY) && !size)
		return reg->type == KPL_T_NUM ? 0 : kpl_refuse(v, KPL_REJECT_ARGUMENT);
	if (!(kpl_pointer_flags[reg->type] & (flags & STR ? KPL_P_STR : KPL_P_MEM)))
		return kpl_refuse(v, KPL_REJECT_ARGUMENT);
	if (!kpl_in_object(v, reg, 0, size))
		return kpl_refuse(v, KPL_REJECT_SIZE);
	if (reg->val % 8)
		return kpl_refuse(v, KPL_REJECT_ALIGN);

	if (!(flags & PART))
		call->units += (size + 7) / 8;
	if (reg->type != KPL_T_STACK)
		return 0;
	if (flags & WRITE) {
		call->stack_off[nr] = reg->val;
		call->stack_size[nr] = size;
	} else if (!kpl_stack_written(s, reg->val, size)) {
		return kpl_refuse(v, KPL_REJECT_SIZE);
	}
	return 0;
}

static int check_map(struct kpl_verify *v, struct call *call, const struct kpl_reg *reg, u32 kind)
{
	int hash = kind == KPL_A_HASH;

	if (reg->type != KPL_T_MAP)
		return kpl_refuse(v, KPL_REJECT_ARGUMENT);
	call->map = &v->maps[reg->val];
	if (!hash)
		v->ws->node[v->ws->pc].agg = 1 + reg->val;
	if ((call->map->kind == KPL_MAP_HASH) != hash)
		return kpl_refuse(v, KPL_REJECT_MAP);
	if (kind == KPL_A_NAMES && call->map->key_size != KPL_STR_SIZE(KPL_COMM))
		return kpl_refuse(v, KPL_REJECT_MAP);
	return 0;
}

static int check_type(struct kpl_verify *v, const struct kpl_reg *reg, u32 type)
{
	return reg->type == type ? 0 : kpl_refuse(v, KPL_REJECT_ARGUMENT);
}

static int check_arg(struct kpl_verify *v, struct call *call, u32 nr)
{
	const struct kpl_reg *reg = &v->ws->cur.reg[1 + nr];
	u32 kind = call->desc->arg[nr];
	int err;

	if (kind == KPL_A_UNUSED)
		return 0;
	if (reg->type == KPL_T_NONE)
		return kpl_refuse(v, KPL_REJECT_UNINIT);
	switch (kind) {
	case KPL_A_NUM:
		return check_type(v, reg, KPL_T_NUM);
	case KPL_A_CONST:
		return check_const(v, reg, S32_MIN, S32_MAX);
	case KPL_A_HIT:
		return check_type(v, reg, KPL_T_HIT);
	case KPL_A_AGG:
	case KPL_A_NAMES:
	case KPL_A_HASH:
		return check_map(v, call, reg, kind);
	case KPL_A_REC:
		err = check_type(v, reg, KPL_T_REC);
		if (!err && reg->val)
			err = kpl_refuse(v, KPL_REJECT_ARGUMENT);
		return err;
	}
	return check_memory(v, call, nr);
}

/* rec_begin(hit, event, fixed, tail): no other record, and one of a possible size. */
static int check_rec_begin(struct kpl_verify *v)
{
	struct kpl_state *s = &v->ws->cur;
	s32 fixed = s->reg[3].val, tail = s->reg[4].val;

	if (!v->max_record)
		return kpl_refuse(v, KPL_REJECT_HELPER);
	if (s->rec != KPL_REC_NONE)
		return kpl_refuse(v, KPL_REJECT_RECORD);
	if (fixed < 0 || fixed % 8 || tail < 0 || (u32)fixed > v->max_record ||
	    (u32)tail > v->max_record - (u32)fixed)
		return kpl_refuse(v, KPL_REJECT_CONSTANT);
	v->emits = 1;
	return 0;
}

/* rec_str(hit, rec, slot, str, limit): the slot is in the fixed part. */
static int check_rec_str(struct kpl_verify *v)
{
	s32 last = v->ws->cur.rec_size - (s32)sizeof(struct kpl_rec_str);
	s32 slot = v->ws->cur.reg[3].val;

	/* Any number stands in `slot`: nothing may be added to it. */
	if (slot < 0 || slot % 8 || slot > last)
		return kpl_refuse(v, KPL_REJECT_CONSTANT);
	return 0;
}

/* rec_read_str(hit, rec, slot, limit, addr): likewise; `units` grows by the string's words. */
static int check_rec_read_str(struct kpl_verify *v, u32 *units)
{
	const struct kpl_reg *limit = &v->ws->cur.reg[4];
	int err = check_const(v, limit, 0, KPL_MAX_STR);

	if (!err)
		*units += KPL_STR_SIZE(limit->val) / 8;
	return err ? err : check_rec_str(v);
}

/* override(hit, value), go_to(hit, low, high): it may; where it goes to is known. */
static int check_move(struct kpl_verify *v, u32 move)
{
	const struct kpl_state *s = &v->ws->cur;

	if (!(v->moves & move))
		return kpl_refuse(v, KPL_REJECT_HELPER);
	v->moved |= move;
	if (move != KPL_MOVE_GO_TO)
		return 0;
	if (v->nr_targets == KPL_MAX_TARGETS)
		return kpl_refuse(v, KPL_REJECT_LIMIT);
	v->targets[v->nr_targets++] = (u32)s->reg[2].val | (u64)(u32)s->reg[3].val << 32;
	return 0;
}

/* `rec_size`: of the record that rec_begin makes pending. */
static void apply_result(struct kpl_state *s, u32 result, u16 rec_size)
{
	u32 i;

	for (i = 0; i <= 5; i++)
		s->reg[i] = kpl_reg_make(KPL_T_NONE, 0);
	switch (result) {
	case KPL_R_NUM:
		s->reg[0] = kpl_reg_make(KPL_T_NUM, 0);
		break;
	case KPL_R_REC_OR_NULL:
		s->reg[0] = kpl_reg_make(KPL_T_REC_OR_NULL, 0);
		s->rec = KPL_REC_UNTESTED;
		s->rec_size = rec_size;
		break;
	case KPL_R_DONE:
		kpl_state_retype(s, KPL_T_REC, KPL_T_NONE);
		s->rec = KPL_REC_NONE;
		s->rec_size = 0;
		break;
	case KPL_R_VOID:
		break;
	}
}

/* `cost` grows by the worst case of the helper and its memory. */
int kpl_check_call(struct kpl_verify *v, const struct bpf_insn *insn, u32 *cost)
{
	struct kpl_state *s = &v->ws->cur;
	u32 id = (u32)insn->imm, i;
	struct call call = { 0 };
	u16 rec_size = 0;
	int err = 0;

	if (id >= KPL_H_END_ || !kpl_helper_descs[id].name)
		return kpl_refuse(v, KPL_REJECT_HELPER);
	call.desc = &kpl_helper_descs[id];
	for (i = 0; i < 5; i++) {
		if (call.desc->arg[i] == KPL_A_REC && s->rec != KPL_REC_TESTED)
			return kpl_refuse(v, KPL_REJECT_RECORD);
		err = check_arg(v, &call, i);
		if (err)
			return err;
	}
	if (id == KPL_H_rec_begin)
		err = check_rec_begin(v);
	else if (id == KPL_H_rec_str)
		err = check_rec_str(v);
	else if (id == KPL_H_rec_read_str)
		err = check_rec_read_str(v, &call.units);
	else if (id == KPL_H_map_add)
		call.units += call.map->value_size / 8;	/* a new one is zero */
	else if (id == KPL_H_override || id == KPL_H_go_to)
		err = check_move(v, id == KPL_H_override ? KPL_MOVE_OVERRIDE : KPL_MOVE_GO_TO);
	if (err)
		return err;

	if (id == KPL_H_rec_begin)
		rec_size = (u16)s->reg[3].val;
	for (i = 0; i < 5; i++) {
		if (!call.stack_size[i])
			continue;
		kpl_use_stack(v, call.stack_off[i]);
		kpl_stack_write(s, call.stack_off[i], call.stack_size[i]);
	}
	apply_result(s, call.desc->result, rec_size);
	kpl_looks_at(v, call.desc->looks);
	*cost += call.desc->cost + call.units * call.desc->word;
	if (call.map && call.map->key_size)
		*cost += KPL_SEARCH_COST;
	return 0;
}
