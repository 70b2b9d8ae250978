/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Return probes. */
#ifndef KPL_KRETPROBE_H
#define KPL_KRETPROBE_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_kretprobe_ops;

#endif
