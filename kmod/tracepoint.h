/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Probes at the kernel's tracepoints and those of its modules.  Process context. */
#ifndef KPL_TRACEPOINT_H
#define KPL_TRACEPOINT_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_tracepoint_ops;

int kpl_tracepoint_init(void);
void kpl_tracepoint_exit(void);

#endif
