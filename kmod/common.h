/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What several kinds of probes do alike.  Process context. */
#ifndef KPL_COMMON_H
#define KPL_COMMON_H

#include "kind.h"

/* Adds one probe after the other: 0 or what is wrong with it. */
void kpl_add_each(struct kpl_probe **prs, u32 nr, int (*add)(struct kpl_probe *pr));

/* KPL_OP_ADD of a kind that this kernel does not have: nothing else is called. */
void kpl_add_none(struct kpl_probe **prs, u32 nr);

/* Armed, disabled, or gone with its code. */
enum kpl_probe_state kpl_plain_state(struct kpl_probe *pr);

/* Of a probe with handlers on one side. */
void kpl_hit_stats(struct kpl_probe *pr, struct kpl_probe_stats *out);
/* Of one with handlers at entry and at return; not: what is outstanding. */
void kpl_call_stats(struct kpl_probe *pr, struct kpl_probe_stats *out);

#endif
