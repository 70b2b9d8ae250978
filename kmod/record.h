/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Records: what handlers write into rings, by the helpers rec_… */
#ifndef KPL_RECORD_H
#define KPL_RECORD_H

struct kpl_session;

/* This CPU's handler has ended with a record begun, which there is not.  Under the guard. */
void kpl_rec_abandon(struct kpl_session *s);

#endif
