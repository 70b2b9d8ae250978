/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Changing what runs: who may, and the helpers that do. */
#ifndef KPL_CHANGE_H
#define KPL_CHANGE_H

#include "session.h"

u64 kpl_change_feature(void);

/* Whether the caller may write to the running kernel by other means, too.  Process context. */
bool kpl_may_write_kernel(void);

/* Opens the session for it.  Process context, under the session's lock. */
int kpl_rights(struct kpl_session *s, struct kpl_rights *arg);

/* The rights that the session has now: they are asked for at each load and attach.  Process context. */
u32 kpl_rights_now(const struct kpl_session *s);

/* A task may still be on its way out of a function that was left out.  Process context, when nothing is armed. */
void kpl_change_exit(void);

#endif
