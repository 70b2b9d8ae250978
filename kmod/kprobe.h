/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Probes by the kernel's kprobes, and what return probes have of them.  Process context. */
#ifndef KPL_KPROBE_H
#define KPL_KPROBE_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_kprobe_ops;

void kpl_kprobe_arm(struct kpl_probe **prs, u32 nr);
void kpl_kprobe_disarm(struct kpl_probe **prs, u32 nr);
u32 kpl_kprobes_off(struct kpl_probe **prs, u32 nr);
/* These; the order of the list is another one then.  `returns`: they are kretprobes. */
void kpl_kprobes_unregister(struct kpl_probe **prs, u32 nr, bool returns);
enum kpl_probe_state kpl_kprobe_state(struct kpl_probe *pr);
/* Hits that the kernel has missed while it was armed. */
u64 kpl_kprobe_missed(const struct kpl_probe *pr);

#endif
