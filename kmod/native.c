// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Native code: made by the kernel's own JIT, and copied out to those who want
 * to read it.  All in process context.
 */
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "area.h"
#include "prog.h"
#include "session.h"

/* Native code calls helpers by their distance from the kernel's call base. */
static bool kpl_link_helpers(struct bpf_insn *insns, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		s64 distance;

		switch (insns[i].code) {
		case BPF_LD | BPF_IMM | BPF_DW:
			i++;
			break;
		case BPF_JMP | BPF_CALL:
			distance = (s64)kpl_helpers[insns[i].imm] - (s64)__bpf_call_base;
			if (distance != (s32)distance)
				return false;
			insns[i].imm = distance;
		}
	}
	return true;
}

/* Each instruction as a line of its own: the JIT tells where lines begin. */
static bool kpl_ask_for_places(struct bpf_prog *fp)
{
	struct bpf_line_info *lines = kvcalloc(fp->len, sizeof(*lines), KPL_GFP);
	u32 i;

	if (!lines)
		return false;
	for (i = 0; i < fp->len; i++)
		lines[i].insn_off = i;
	fp->aux->linfo = lines;
	fp->aux->nr_linfo = fp->len;
	return true;
}

/* The kernel frees them with programs that have a file descriptor; ours have none. */
static void kpl_forget_lines(struct bpf_prog *fp)
{
	kvfree(fp->aux->jited_linfo);
	kvfree(fp->aux->linfo);
	fp->aux->jited_linfo = NULL;
	fp->aux->linfo = NULL;
	fp->aux->nr_linfo = 0;
}

void kpl_native_free(struct bpf_prog *fp)
{
	kpl_forget_lines(fp);
	bpf_prog_free(fp);
}

struct bpf_prog *kpl_native_make(const struct bpf_insn *insns, u32 nr, u32 stack_depth, bool places)
{
	struct bpf_prog *fp = bpf_prog_alloc(bpf_prog_size(nr), KPL_GFP);
	int err;

	if (!fp)
		return NULL;
	fp->len = nr;
	fp->type = BPF_PROG_TYPE_KPROBE;	/* any but "once was classic" */
	fp->aux->stack_depth = stack_depth;
	memcpy(fp->insnsi, insns, nr * sizeof(*insns));
	if ((!places || kpl_ask_for_places(fp)) && kpl_link_helpers(fp->insnsi, nr)) {
		fp = bpf_prog_select_runtime(fp, &err);
		if (!err && fp->jited)
			return fp;
	}
	kpl_native_free(fp);
	return NULL;
}

u32 *kpl_native_places(struct bpf_prog *fp, u32 *out_pc, u32 nr)
{
	void **begins = fp->aux->jited_linfo;
	u32 pc;

	if (!begins || !out_pc) {
		kvfree(out_pc);
		out_pc = NULL;
	}
	for (pc = 0; out_pc && pc < nr; pc++)
		out_pc[pc] = begins[out_pc[pc]] - (void *)fp->bpf_func;
	kpl_forget_lines(fp);
	return out_pc;
}

/* What is copied out: what has room of the code, and the places if they are wanted. */
struct kpl_native_copy {
	void *code;
	u32 len;
	u32 *places;
};

static int kpl_native_take(const struct kpl_prog *prog, struct kpl_prog_native *arg,
			   struct kpl_native_copy *copy)
{
	u32 room = arg->size;

	if (!prog || (arg->nr_places && arg->nr_places != prog->nr_insns))
		return -EINVAL;
	arg->size = 0;
	arg->addr = 0;
	if (!prog->native)
		return 0;
	if (arg->nr_places && !prog->places)
		return -ENODATA;
	copy->len = min(room, prog->native->jited_len);
	copy->code = kvmalloc(copy->len, KPL_GFP);
	copy->places = kvmalloc_array(arg->nr_places, sizeof(*copy->places), KPL_GFP);
	if ((copy->len && !copy->code) || (arg->nr_places && !copy->places))
		return -ENOMEM;
	memcpy(copy->code, prog->native->bpf_func, copy->len);
	memcpy(copy->places, prog->places, arg->nr_places * sizeof(*copy->places));
	arg->size = prog->native->jited_len;
	arg->addr = (unsigned long)prog->native->bpf_func;
	return 0;
}

int kpl_prog_native(struct kpl_session *s, struct kpl_prog_native *arg)
{
	struct kpl_native_copy copy = {};
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (arg->reserved)
		return -EINVAL;
	err = kpl_session_lock(s);
	if (err)
		return err;
	err = kpl_native_take(kpl_prog_get(s, arg->id), arg, &copy);
	kpl_session_unlock(s);
	if (!err && arg->size &&
	    (copy_to_user(u64_to_user_ptr(arg->code), copy.code, copy.len) ||
	     copy_to_user(u64_to_user_ptr(arg->places), copy.places,
			  arg->nr_places * sizeof(*copy.places))))
		err = -EFAULT;
	kvfree(copy.code);
	kvfree(copy.places);
	return err;
}
