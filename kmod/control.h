/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Attached probes are enabled, disabled and detached.  Process context. */
#ifndef KPL_CONTROL_H
#define KPL_CONTROL_H

struct kpl_control;
struct kpl_session;
struct work_struct;

int kpl_control(struct kpl_session *s, struct kpl_control *arg);

/*
 * Disarm those that took more than their session's share, by its `overloaded`; and by
 * the next call, where that found the lock taken.  They take the lock.
 */
void kpl_probes_overloaded(struct work_struct *work);
void kpl_overloaded_first(struct kpl_session *s);

#endif
