/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What wakes who waits for a session: hits can't do it themselves.  Process context. */
#ifndef KPL_WAKE_H
#define KPL_WAKE_H

#include "session.h"

int kpl_wake_init(void);
void kpl_wake_exit(void);
void kpl_wake_woke(void);	/* the machine was asleep, or about to be */

void kpl_wake_begin(struct kpl_session *s);
void kpl_wake_flush(struct kpl_session *s);	/* what is asked for comes now, however it was lost */
void kpl_wake_end(struct kpl_session *s);	/* no hit asks any more */
void kpl_wake_leave(struct kpl_session *s);	/* nor is anything of it used any more */

#endif
