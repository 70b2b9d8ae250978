/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Return probes by direct calls of stubs, where the kernel has what they need.  Process context. */
#ifndef KPL_DIRECT_H
#define KPL_DIRECT_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_direct_ops;

int kpl_direct_init(void);
void kpl_direct_exit(void);
u64 kpl_direct_feature(void);	/* KPL_FEATURE_DIRECT or 0 */

#endif
