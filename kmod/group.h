/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Operations on many probes at once, whatever their kinds.  Process context, the session's lock held. */
#ifndef KPL_GROUP_H
#define KPL_GROUP_H

#include "kind.h"

/* NULL: there is no such kind. */
const struct kpl_probe_ops *kpl_probe_kind(u32 kind);
/* EPERM: the caller lacks a right that probes of this kind take to place. */
int kpl_may_place(const struct kpl_probe_ops *ops);

/* Probes of one operation, and room to sort them by kind: both in the session's room. */
struct kpl_group {
	struct kpl_probe **prs;		/* NULL elements are passed over */
	struct kpl_probe **some;	/* as many */
	u32 nr;
};

/* An empty one. */
struct kpl_group kpl_group_of(struct kpl_session *s);

/* Whatever is done later with so many probes, their end at least, needs no memory. */
int kpl_room_reserve(struct kpl_session *s, u32 nr);
void kpl_room_free(struct kpl_session *s);

/* Tests: this one, and those of a caller's own. */
bool kpl_is_added(const struct kpl_probe *pr);
/* How many pass the test. */
u32 kpl_group_count(const struct kpl_group *g, bool (*test)(const struct kpl_probe *pr));
/* One operation on all that pass it. */
void kpl_group_run(struct kpl_group *g, enum kpl_probe_op op,
		   bool (*test)(const struct kpl_probe *pr));
/* Takes room for its handlers at its place (place.h). */
int kpl_probe_join_crowd(struct kpl_probe *pr);
/* Gives back what only an added probe needs; its stats stay. */
void kpl_probe_release(struct kpl_probe *pr);
/* Afterwards no handler of theirs runs, nor will; they are released. */
void kpl_group_detach(struct kpl_group *g, bool (*test)(const struct kpl_probe *pr));

#endif
