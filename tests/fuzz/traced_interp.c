// SPDX-License-Identifier: MIT
/* The interpreter once more, with a function called before each instruction. */
#include "core/core.h"

void trace_step(const struct bpf_insn *insn, u64 *regs);

#define KPL_INTERP_STEP(insn, regs) trace_step(insn, regs)
#define kpl_interpret_on traced_interpret_on
#define kpl_interpret traced_interpret
u64 traced_interpret_on(const struct bpf_insn *insn, struct kpl_hit *hit, const kpl_helper_fn *helpers, void *fp);
u64 traced_interpret(const struct bpf_insn *insns, struct kpl_hit *hit, const kpl_helper_fn *helpers);
#include "core/interp.c"
