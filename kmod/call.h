/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hits of return probes: what the kernel, or a stub, calls. */
#ifndef KPL_CALL_H
#define KPL_CALL_H

#include "kind.h"
#include "stubs.h"

/* By kretprobes: in any context, preemption off. */
int kpl_hit_call(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_call_entry(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_call_when(struct kprobe *kp, struct pt_regs *regs);

/* Chooses a return probe's functions: those that prepare no more than its handlers look at. */
void kpl_hit_handlers(struct kpl_probe *pr);

/* Process context; before the first probe that calls it is armed. */
void kpl_hook_return_set(kprobe_pre_handler_t hook);

#ifdef KPL_DIRECT_CALLS
/*
 * By stubs: any context, preemption on.  What a stub calls for probes: a stub of
 * one has its probe as owner, a stub of many a struct kpl_table.  NULL: nothing.
 */
kpl_enter_fn *kpl_enter_for(struct kpl_probe *const *prs, u32 nr, bool of_many);
kpl_exit_fn *kpl_exit_for(struct kpl_probe *const *prs, u32 nr, bool of_many);
#endif

#endif
