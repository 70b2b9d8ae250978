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
	struct bpf_line_info *lines = kvcalloc(fp->len, sizeof(*lines), GFP_KERNEL_ACCOUNT);
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
	struct bpf_prog *fp = bpf_prog_alloc(bpf_prog_size(nr), GFP_KERNEL_ACCOUNT);
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

int kpl_prog_native(struct kpl_session *s, struct kpl_prog_native *arg)
{
	const struct kpl_prog *prog = kpl_prog_get(s, arg->id);
	u32 room = arg->size, len;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (!prog || arg->reserved || (arg->nr_places && arg->nr_places != prog->nr_insns))
		return -EINVAL;
	arg->size = 0;
	arg->addr = 0;
	if (!prog->native)
		return 0;
	if (arg->nr_places && !prog->places)
		return -ENODATA;
	len = prog->native->jited_len;
	if (copy_to_user(u64_to_user_ptr(arg->code), prog->native->bpf_func, min(room, len)) ||
	    copy_to_user(u64_to_user_ptr(arg->places), prog->places,
			 arg->nr_places * sizeof(*prog->places)))
		return -EFAULT;
	arg->size = len;
	arg->addr = (unsigned long)prog->native->bpf_func;
	return 0;
}
