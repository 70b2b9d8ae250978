/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Whether user space still reads what handlers send, and the dead man's time.  Process context. */
#ifndef KPL_READER_H
#define KPL_READER_H

#include "session.h"

void kpl_reader_begin(struct kpl_session *s);
void kpl_reader_leave(struct kpl_session *s);	/* it looks no more */

/* The machine is about to fall asleep; or it was asleep, or about to be. */
void kpl_reader_sleeps(void);
void kpl_reader_woke(void);

int kpl_title(struct kpl_session *s, struct kpl_title *arg);

#endif
