/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Functions that are there to be probed, and called a known number of times: `kprobe-lua bench`. */
#ifndef KPL_BENCH_H
#define KPL_BENCH_H

#include "session.h"

int kpl_bench(struct kpl_session *s, struct kpl_bench *arg);

#endif
