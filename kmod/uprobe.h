/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Probes in programs and libraries. */
#ifndef KPL_UPROBE_H
#define KPL_UPROBE_H

#include "kind.h"

extern const struct kpl_probe_ops kpl_uprobe_ops, kpl_uretprobe_ops;

#endif
