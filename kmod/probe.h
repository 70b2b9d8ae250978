/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A session's probes: attached in batches, controlled, detached.  Process context. */
#ifndef KPL_PROBE_H
#define KPL_PROBE_H

#include "prog.h"
#include "session.h"

struct work_struct;

int kpl_attach(struct kpl_session *s, struct kpl_attach_batch *arg);
int kpl_control(struct kpl_session *s, struct kpl_control *arg);

/* The session's lock is held. */

/* Takes the program from detached probes; false: an attached one runs it. */
bool kpl_probes_leave(struct kpl_session *s, const struct kpl_prog *prog);
/* Detaches every probe of the session. */
void kpl_detach_all(struct kpl_session *s);

/*
 * Disarm those that took more than their session's share, by its `overloaded`; and by
 * the next call, where that found the lock taken.  They take the lock.
 */
void kpl_probes_overloaded(struct work_struct *work);
void kpl_overloaded_first(struct kpl_session *s);

void kpl_probes_free(struct kpl_session *s);

#endif
