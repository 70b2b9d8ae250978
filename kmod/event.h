/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Probes that something else than code brings about: clocks and counters, by
 * perf events of each CPU, also of those that come later.  Process context.
 */
#ifndef KPL_EVENT_H
#define KPL_EVENT_H

#include <linux/perf_event.h>

#include "kind.h"

extern const struct kpl_probe_ops kpl_event_ops;

/* As a number of the probe's place: clocks tick together, and so do counters of one thing. */
u64 kpl_event_place(const struct kpl_probe *pr);
/* Of a clock: how often a second it ticks on a CPU, at most.  Others: 0. */
u32 kpl_event_ticks(const struct kpl_probe *pr);

int kpl_event_init(void);
void kpl_event_exit(void);
/* The machine was asleep, or about to be. */
void kpl_events_woke(void);

/* The events of one probe; `hit` is called with it as the event's context. */
struct kpl_events *kpl_events_alloc(struct kpl_probe *pr, const struct perf_event_attr *attr,
				    bool one_cpu, perf_overflow_handler_t hit);
u64 kpl_events_memory(const struct kpl_attach *a, const struct kpl_prog **progs);

/* What kinds that have them share: of added ones. */
void kpl_events_arm(struct kpl_probe **prs, u32 nr);
void kpl_events_disarm(struct kpl_probe **prs, u32 nr);
void kpl_events_remove(struct kpl_probe **prs, u32 nr);
void kpl_events_free(struct kpl_probe *pr);

#endif
