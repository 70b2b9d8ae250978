/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A session's probes: attached in batches, and their end.  Process context. */
#ifndef KPL_PROBE_H
#define KPL_PROBE_H

#include "prog.h"
#include "session.h"

int kpl_attach(struct kpl_session *s, struct kpl_attach_batch *arg);

/* The session's lock is held. */

/* Takes the program from detached probes; false: an attached one runs it. */
bool kpl_probes_leave(struct kpl_session *s, const struct kpl_prog *prog);
/* Detaches every probe of the session. */
void kpl_detach_all(struct kpl_session *s);

void kpl_probes_free(struct kpl_session *s);

#endif
