/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Entry probes by ftrace, where the kernel has what they need.  Process context. */
#ifndef KPL_FTRACE_H
#define KPL_FTRACE_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_ftrace_ops;

int kpl_ftrace_init(void);
void kpl_ftrace_exit(void);
u64 kpl_ftrace_feature(void);	/* KPL_FEATURE_FTRACE or 0 */

#endif
