/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Native code, by the kernel's own JIT.  Process context. */
#ifndef KPL_NATIVE_H
#define KPL_NATIVE_H

#include <linux/types.h>

struct bpf_insn;
struct bpf_prog;

void kpl_native_init(void);
u64 kpl_native_feature(void);	/* KPL_FEATURE_JIT or 0 */
u64 kpl_native_memory(u32 nr);	/* bytes, of so many instructions */

/* NULL where there is no native code to be had, or all sessions have as much as they may. */
struct bpf_prog *kpl_native_make(const struct bpf_insn *insns, u32 nr, u32 stack_depth, bool starts);
void kpl_native_free(struct bpf_prog *fp);
/* Turns where instructions went in `insns` into offsets in the native code; takes `out_pc`. */
u32 *kpl_native_starts(struct bpf_prog *fp, u32 *out_pc, u32 nr);

#endif
