// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Loads and stores: which objects, which bytes of them, in which direction. */
#include "verify.h"

static u32 access_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	}
	return 8;
}

/* 1 if `size` bytes at `off` from where `base` points are within its object. */
int kpl_in_object(const struct kpl_verify *v, const struct kpl_reg *base, s64 off, s64 size)
{
	s64 low = 0, high = 0;

	switch (base->type) {
	case KPL_T_STACK:
		low = -KPL_MAX_STACK;
		break;
	case KPL_T_SCRATCH:
		high = v->scratch_size;
		break;
	case KPL_T_DATA:
		high = v->data_size;
		break;
	case KPL_T_REC:
		high = v->ws->cur.rec_size;
		break;
	case KPL_T_REGS:
		high = v->regs_size;
		break;
	}
	off += base->val;
	return off >= low && size >= 0 && off + size <= high;
}

/* The stack is used from r10 down to `off`. */
void kpl_use_stack(struct kpl_verify *v, s32 off)
{
	if ((u32)-off > v->ws->depth)
		v->ws->depth = -off;
}

/* A field of the hit, whole, that this kind of program may load. */
static int check_hit_load(struct kpl_verify *v, const struct bpf_insn *insn)
{
	u32 i;

	for (i = 0; i < kpl_nr_hit_descs; i++) {
		const struct kpl_hit_desc *field = &kpl_hit_descs[i];

		if (insn->off != field->off || access_size(insn) != field->size)
			continue;
		if (!(field->kinds >> v->kind & 1))
			break;
		kpl_looks_at(v, field->looks);
		v->ws->cur.reg[insn->dst_reg] = kpl_reg_make(field->type, 0);
		return 0;
	}
	return kpl_refuse(v, KPL_REJECT_HIT_FIELD);
}

/* Range and alignment of an access; all objects are aligned to 8 bytes. */
static int check_access(struct kpl_verify *v, const struct bpf_insn *insn,
			const struct kpl_reg *base)
{
	u32 size = access_size(insn);

	if (!kpl_in_object(v, base, insn->off, size))
		return kpl_refuse(v, KPL_REJECT_RANGE);
	if ((u32)(base->val + insn->off) & (size - 1))
		return kpl_refuse(v, KPL_REJECT_ALIGN);
	return 0;
}

int kpl_check_ldx(struct kpl_verify *v, const struct bpf_insn *insn)
{
	struct kpl_state *s = &v->ws->cur;
	struct kpl_reg base = kpl_reg_read(s, insn->src_reg);
	s32 off;
	int err;

	if (base.type == KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_NUMBER);
	if (!(kpl_pointer_flags[base.type] & KPL_P_LOAD))
		return kpl_refuse(v, KPL_REJECT_LOAD);
	if (base.type == KPL_T_HIT)
		return check_hit_load(v, insn);
	err = check_access(v, insn, &base);
	if (err)
		return err;
	off = base.val + insn->off;
	if (base.type == KPL_T_REGS) {
		if (access_size(insn) != 8)
			return kpl_refuse(v, KPL_REJECT_ALIGN);
		v->regs_read |= 1ull << (off / 8);
	}
	if (base.type == KPL_T_STACK && !kpl_stack_written(s, off, access_size(insn)))
		return kpl_refuse(v, KPL_REJECT_STACK_UNINIT);
	s->reg[insn->dst_reg] = kpl_reg_make(KPL_T_NUM, 0);
	return 0;
}

/* A register that this program may change; others are as memory that can't be stored to. */
static int check_reg_store(struct kpl_verify *v, const struct bpf_insn *insn,
			   const struct kpl_reg *base)
{
	s32 off = base->val + insn->off;

	if (access_size(insn) != 8 || off < 0 || off % 8 || off / 8 >= 64 ||
	    !(v->regs_write >> (off / 8) & 1))
		return kpl_refuse(v, KPL_REJECT_STORE);
	v->regs_written |= 1ull << (off / 8);
	return 0;
}

int kpl_check_store(struct kpl_verify *v, const struct bpf_insn *insn)
{
	struct kpl_state *s = &v->ws->cur;
	struct kpl_reg base = kpl_reg_read(s, insn->dst_reg);
	int err;

	if (base.type == KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_NUMBER);
	if (!(kpl_pointer_flags[base.type] & KPL_P_STORE))
		return kpl_refuse(v, KPL_REJECT_STORE);
	if (BPF_CLASS(insn->code) == BPF_STX &&
	    kpl_reg_read(s, insn->src_reg).type != KPL_T_NUM)
		return kpl_refuse(v, KPL_REJECT_STORE_POINTER);
	if (base.type == KPL_T_REGS)
		return check_reg_store(v, insn, &base);
	err = check_access(v, insn, &base);
	if (err)
		return err;
	if (base.type == KPL_T_STACK) {
		kpl_use_stack(v, base.val + insn->off);
		kpl_stack_write(s, base.val + insn->off, access_size(insn));
	}
	return 0;
}
