// SPDX-License-Identifier: GPL-2.0 OR MIT
/* States of the verifier: how they start, meet, and compare to declared ones. */
#include "verify.h"

const u8 kpl_pointer_flags[KPL_T_END_] = {
	[KPL_T_HIT]	= KPL_P_LOAD,
	[KPL_T_REGS]	= KPL_P_LOAD | KPL_P_STORE,
	[KPL_T_STACK]	= KPL_P_ADD | KPL_P_LOAD | KPL_P_STORE | KPL_P_MEM,
	[KPL_T_SCRATCH]	= KPL_P_ADD | KPL_P_LOAD | KPL_P_STORE | KPL_P_MEM | KPL_P_STR,
	[KPL_T_DATA]	= KPL_P_ADD | KPL_P_LOAD | KPL_P_STORE | KPL_P_MEM | KPL_P_STR,
	[KPL_T_REC]	= KPL_P_ADD | KPL_P_STORE,
};

void kpl_state_start(struct kpl_state *s)
{
	memset(s, 0, sizeof(*s));
	s->reg[1] = kpl_reg_make(KPL_T_HIT, 0);
}

void kpl_state_from_label(struct kpl_state *s, const struct kpl_label *label)
{
	u32 i;

	for (i = 0; i < KPL_NR_REGS; i++)
		s->reg[i] = kpl_reg_make(label->type[i], label->off[i]);
	s->rec = label->rec_pending ? KPL_REC_TESTED : KPL_REC_NONE;
	s->rec_size = label->rec_size;
	for (i = 0; i < sizeof(s->stack); i++)
		s->stack[i] = label->stack >> i & 1 ? 0xff : 0;
}

/* 1 if every run that is in state `s` is in the declared one too. */
int kpl_state_satisfies(const struct kpl_state *s, const struct kpl_label *label)
{
	u32 i;

	for (i = 0; i < KPL_NR_REGS; i++) {
		if (label->type[i] == KPL_T_NONE)
			continue;
		if (s->reg[i].type != label->type[i])
			return 0;
		if (label->type[i] != KPL_T_NUM && s->reg[i].val != label->off[i])
			return 0;
	}
	for (i = 0; i < sizeof(s->stack); i++) {
		if ((label->stack >> i & 1) && s->stack[i] != 0xff)
			return 0;
	}
	return s->rec == (label->rec_pending ? KPL_REC_TESTED : KPL_REC_NONE) &&
	       s->rec_size == label->rec_size;
}

/*
 * `into` becomes what holds in both states.  0 if they can't meet: what is
 * pending must be the same on all ways, as no test could tell later.
 */
int kpl_state_join(struct kpl_state *into, const struct kpl_state *s)
{
	u32 i;

	if (into->rec != s->rec || into->rec_size != s->rec_size)
		return 0;
	for (i = 0; i < KPL_NR_REGS; i++) {
		struct kpl_reg *a = &into->reg[i];
		const struct kpl_reg *b = &s->reg[i];

		if (a->type == b->type && a->known == b->known && a->val == b->val)
			continue;
		if (a->type == KPL_T_NUM && b->type == KPL_T_NUM)
			*a = kpl_reg_make(KPL_T_NUM, 0);
		else
			*a = kpl_reg_make(KPL_T_NONE, 0);
	}
	for (i = 0; i < sizeof(s->stack); i++)
		into->stack[i] &= s->stack[i];
	return 1;
}

/* All registers of type `from`, whatever their offset, become `to`; NUM: the number 0. */
void kpl_state_retype(struct kpl_state *s, u32 from, u32 to)
{
	u32 i;

	for (i = 0; i < KPL_NR_REGS; i++) {
		if (s->reg[i].type == from)
			s->reg[i] = to == KPL_T_NUM ? kpl_reg_const(0) : kpl_reg_make(to, 0);
	}
}

/* [off, off + size) is within the stack: off is negative. */
void kpl_stack_write(struct kpl_state *s, s32 off, u32 size)
{
	s32 i;

	for (i = -off - (s32)size; i < -off; i++)
		s->stack[i / 8] |= 1u << (i % 8);
}

int kpl_stack_written(const struct kpl_state *s, s32 off, u32 size)
{
	s32 i;

	for (i = -off - (s32)size; i < -off; i++) {
		if (!(s->stack[i / 8] >> (i % 8) & 1))
			return 0;
	}
	return 1;
}

static int check_label_reg(const struct kpl_verify *v, const struct kpl_label *label, u32 nr)
{
	u32 type = label->type[nr];
	s32 off = label->off[nr];

	if (type >= KPL_T_END_ || type == KPL_T_REC_OR_NULL)
		return 0;
	if (type == KPL_T_REC && !label->rec_pending)
		return 0;
	if (type == KPL_T_MAP)
		return (u32)off < v->nr_maps;
	if (kpl_pointer_flags[type] & KPL_P_ADD)
		return off >= -KPL_MAX_OFF && off <= KPL_MAX_OFF;
	return off == 0;
}

static int label_is_sound(const struct kpl_verify *v, const struct kpl_label *label)
{
	u32 i;

	if (label->pc >= v->nr_insns || label->reserved || label->rec_pending > 1)
		return 0;
	if (label->rec_size % 8 || label->rec_size > v->max_record ||
	    (!label->rec_pending && label->rec_size))
		return 0;
	for (i = 0; i < KPL_NR_REGS; i++) {
		if (!check_label_reg(v, label, i))
			return 0;
	}
	return 1;
}

/* Notes each label at its instruction. */
int kpl_check_labels(struct kpl_verify *v)
{
	u32 i;

	if (v->nr_labels > KPL_MAX_LABELS)
		return kpl_refuse_at(v, KPL_REJECT_LABEL, 0);
	for (i = 0; i < v->nr_labels; i++) {
		const struct kpl_label *label = &v->labels[i];

		if (!label_is_sound(v, label) || (i && label->pc <= label[-1].pc))
			return kpl_refuse_at(v, KPL_REJECT_LABEL, label->pc);
		v->ws->node[label->pc].label = i + 1;
	}
	return 0;
}
