/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Probes on the kernel's data, by the processor's debug registers.  Process context. */
#ifndef KPL_WATCH_H
#define KPL_WATCH_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_watch_ops;

#endif
