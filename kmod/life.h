/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The life of a session, and what its file is asked for. */
#ifndef KPL_LIFE_H
#define KPL_LIFE_H

#include <linux/poll.h>

#include "session.h"

struct file;
struct vm_area_struct;

int kpl_life_init(void);
void kpl_life_exit(void);
struct kpl_session *kpl_session_open(void);
void kpl_session_release(struct kpl_session *s);

/* Ends the session's activity for good; any number of times. */
void kpl_session_close(struct kpl_session *s);

__poll_t kpl_session_poll(struct kpl_session *s, struct file *file, poll_table *table);
int kpl_session_mmap(struct kpl_session *s, struct vm_area_struct *vma);
int kpl_session_info(struct kpl_session *s, struct kpl_info *info);
int kpl_free(struct kpl_session *s, struct kpl_free *arg);

#endif
