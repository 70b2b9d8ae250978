/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Return probes. */
#ifndef KPL_KRETPROBE_H
#define KPL_KRETPROBE_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_kretprobe_ops;

void kpl_kretprobe_exit(void);	/* there is no session any more */

/* Makes a return probe of another kind one of this kind, not added yet; an error leaves it as it is. */
int kpl_kretprobe_take(struct kpl_probe *pr);

/* Adds them, whatever signal comes: they are nothing else any more.  Not in a session that ends. */
void kpl_kretprobe_add_left(struct kpl_probe **prs, u32 nr);

/* Of any return probe. */
void kpl_kretprobe_stats(struct kpl_probe *pr, struct kpl_probe_stats *out);

#endif
