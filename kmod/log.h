/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The kernel's log: who probes, from when to when. */
#ifndef KPL_LOG_H
#define KPL_LOG_H

#include "session.h"

/* Process context, the session's lock held. */
void kpl_log_armed(struct kpl_session *s, u32 nr);	/* the first ones are told */
void kpl_log_ended(struct kpl_session *s);	/* all is detached */

/* Process context. */
void kpl_log_opener(struct kpl_session *s);	/* the caller */
void kpl_log_name(struct kpl_session *s, const char *name);
bool kpl_log_unread(struct kpl_session *s, u64 lost);	/* always true */
void kpl_log_dead(struct kpl_session *s);

#endif
