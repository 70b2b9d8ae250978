// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Native code, made by the kernel's own JIT.  Process context. */
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/slab.h>

#include "helpers.h"
#include "native.h"
#include "session.h"

/*
 * Of all sessions, without what the kernel rounds up: it sets a part of its
 * modules' space aside for native code, and refuses filters of ordinary processes,
 * such as those of seccomp, when privileged ones have filled it
 * (bpf_jit_charge_modmem).
 */
#define KPL_MAX_NATIVE	(32 << 20)	/* bytes */

static atomic64_t kpl_native_bytes;
static u64 kpl_native_works;	/* KPL_FEATURE_JIT or 0 */

u64 kpl_native_feature(void)
{
	return kpl_native_works;
}

/*
 * The kernel keeps the instructions beside what it makes of them: in whole
 * pages, with an account of runs for each CPU.  Native code takes several bytes
 * for each of 8, seldom more than 24.
 */
u64 kpl_native_memory(u32 nr)
{
	return PAGE_ALIGN(bpf_prog_size(nr)) + sizeof(struct bpf_prog_aux) +
	       (u64)num_possible_cpus() * (sizeof(struct bpf_prog_stats) + sizeof(int)) +
	       3ull * nr * sizeof(struct bpf_insn);
}

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
static bool kpl_ask_for_starts(struct bpf_prog *fp)
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
	atomic64_sub(fp->jited_len, &kpl_native_bytes);
	bpf_prog_free(fp);
}

struct bpf_prog *kpl_native_make(const struct bpf_insn *insns, u32 nr, u32 stack_depth, bool starts)
{
	struct bpf_prog *fp = bpf_prog_alloc(bpf_prog_size(nr), KPL_GFP);
	int err;

	if (!fp)
		return NULL;
	fp->len = nr;
	fp->type = BPF_PROG_TYPE_KPROBE;	/* any but "once was classic" */
	fp->aux->stack_depth = stack_depth;
	memcpy(fp->insnsi, insns, nr * sizeof(*insns));
	if ((!starts || kpl_ask_for_starts(fp)) && kpl_link_helpers(fp->insnsi, nr)) {
		fp = bpf_prog_select_runtime(fp, &err);
		if (atomic64_add_return(fp->jited_len, &kpl_native_bytes) <= KPL_MAX_NATIVE &&
		    !err && fp->jited)
			return fp;
	}
	kpl_native_free(fp);
	return NULL;
}

u32 *kpl_native_starts(struct bpf_prog *fp, u32 *out_pc, u32 nr)
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

void kpl_native_init(void)
{
	const struct bpf_insn insns[] = { BPF_MOV64_IMM(BPF_REG_0, 0), BPF_EXIT_INSN() };
	struct bpf_prog *fp = kpl_native_make(insns, ARRAY_SIZE(insns), 0, false);

	if (fp) {
		kpl_native_works = KPL_FEATURE_JIT;
		kpl_native_free(fp);
	}
}
