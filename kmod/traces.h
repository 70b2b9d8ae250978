/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Traces: probes in them, and the functions that they are registered for.  Process context, ftrace.c's lock held. */
#ifndef KPL_TRACES_H
#define KPL_TRACES_H

#include "trace.h"

#ifdef KPL_TRACES
/* For `nr` functions, in no list; an ERR_PTR on failure. */
struct kpl_trace *kpl_trace_alloc(u32 nr, bool full_regs, bool moves);
/* One that is not registered. */
void kpl_trace_free(struct kpl_trace *t);

/* Whether it is for this function, or was. */
bool kpl_trace_has(struct kpl_trace *t, unsigned long site);
/* Whether ftrace calls it for this function. */
bool kpl_trace_calls(struct kpl_trace *t, unsigned long site);
/* A probe at a function that it is for, or has room for.  It is not armed. */
void kpl_trace_add(struct kpl_trace *t, struct kpl_probe *pr);

/* Whether hits find the probe. */
void kpl_trace_switch(struct kpl_probe *pr, bool armed);
/* Makes the filter the functions of the armed probes.  On failure, it is as it was. */
int kpl_trace_update(struct kpl_trace *t);
/* Takes out the probes in the code of a module that goes, or in its start-up code alone. */
void kpl_trace_forget(struct kpl_trace *t, const struct module *mod, bool init_alone);
#endif

#endif
