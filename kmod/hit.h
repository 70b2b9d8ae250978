/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hits: what the kernel calls, in any context, preemption off. */
#ifndef KPL_HIT_H
#define KPL_HIT_H

#include <linux/ftrace.h>

#include "compat.h"
#include "kind.h"
#include "trace.h"

int kpl_hit_pre(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_pre_move(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_pre_when(struct kprobe *kp, struct pt_regs *regs);
void kpl_hit_post_nothing(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kpl_hit_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
int kpl_hit_around(struct kprobe *kp, struct pt_regs *regs);
int kpl_hit_nothing(struct kprobe *kp, struct pt_regs *regs);

#ifdef KPL_TRACES
/*
 * Chooses what a trace calls, with preemption on or off, for the probes that it
 * is made for: it prepares no more than their handlers look at.
 */
void kpl_hit_choose(struct kpl_trace *t);
/* Whether that is for this probe, too; the others are found by `first`. */
bool kpl_hit_fits(const struct kpl_trace *t, const struct kpl_probe *pr);
#endif

#endif
