/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hits: what the kernel calls, in any context, preemption off. */
#ifndef KPL_HIT_H
#define KPL_HIT_H

#include <linux/ftrace.h>

#include "compat.h"
#include "kind.h"

int kpl_hit_pre(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_pre_move(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_pre_when(struct kprobe *kp, struct pt_regs *regs);
void kpl_hit_post_nothing(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kpl_hit_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
int kpl_hit_around(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_nothing(struct kprobe *kp, struct pt_regs *regs);

#ifdef KPL_TRACES
/*
 * What a trace of one probe, or of many, calls, with preemption on or off: it
 * prepares no more than their handlers look at.
 */
ftrace_func_t kpl_hit_trace_for(const struct kpl_probe *pr);
ftrace_func_t kpl_hit_traces_for(struct kpl_probe *const *prs, u32 nr);
#endif

#endif
