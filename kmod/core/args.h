/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What each call's argument must be by itself, whatever the session has:
 * 0, -EINVAL for what means nothing, -E2BIG for what is over a limit.
 */
#ifndef KPL_CORE_ARGS_H
#define KPL_CORE_ARGS_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KPL_WHEN_ALL \
	(KPL_WHEN_PID | KPL_WHEN_TID | KPL_WHEN_COMM | KPL_WHEN_CPU | KPL_WHEN_CGROUP | \
	 KPL_WHEN_OTHERS)
#define KPL_RIGHT_ALL	(KPL_RIGHT_INJECT | KPL_RIGHT_CHANGE)
/* Taken by all kinds of probes. */
#define KPL_ATTACH_F_ALL	(KPL_ATTACH_F_DISABLED | KPL_ATTACH_F_OPTIONAL)

/* What a kind of probe takes beside its place: others have 0 there. */
enum kpl_takes {
	KPL_TAKES_NOTHING,
	KPL_TAKES_STACK_ARGS,
	KPL_TAKES_EVENT,	/* event, and a period */
	KPL_TAKES_WATCH,	/* event, and len */
	KPL_TAKES_FILE,		/* fd, and a semaphore */
};

struct kpl_attach_rules {
	u32 flags;		/* KPL_ATTACH_F_* of this kind alone */
	u32 maxactive;		/* the most; 0: has no instances */
	u32 takes;		/* enum kpl_takes */
};

/* Perf has a clock for such an event, whatever else they count. */
int kpl_is_clock(u32 event, u64 config);

int kpl_check_map_create(const struct kpl_map_create *arg);
int kpl_check_map_clear(const struct kpl_map_clear *arg);
int kpl_check_map_op(const struct kpl_map_op *arg);
int kpl_check_prog_load(const struct kpl_prog_load *arg);
/* regs_size: of the registers of a hit. */
int kpl_check_prog_run(const struct kpl_prog_run *arg, u32 regs_size);
int kpl_check_prog_native(const struct kpl_prog_native *arg);
int kpl_check_ring_setup(const struct kpl_ring_setup *arg, u32 page_size);
int kpl_check_ring_spare(const struct kpl_ring_spare *arg, u32 first_size);
int kpl_check_ring_offer(const struct kpl_ring_offer *arg);
int kpl_check_attach_batch(const struct kpl_attach_batch *arg);
int kpl_check_attach(const struct kpl_attach *arg, const struct kpl_attach_rules *rules);
int kpl_check_control(const struct kpl_control *arg);
int kpl_check_stats(const struct kpl_stats *arg);
int kpl_check_free(const struct kpl_free *arg);
int kpl_check_pid(const struct kpl_pid *arg);
int kpl_check_rights(const struct kpl_rights *arg);
int kpl_check_share(const struct kpl_share *arg);
int kpl_check_title(const struct kpl_title *arg);
int kpl_check_bench(const struct kpl_bench *arg);

#ifdef __cplusplus
}
#endif
#endif
