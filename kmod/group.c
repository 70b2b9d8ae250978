// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Groups of probes: each operation is one call of each kind.  Process context,
 * the session's lock held.
 */
#include <linux/capability.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "compat.h"
#include "direct.h"
#include "event.h"
#include "ftrace.h"
#include "group.h"
#include "guard.h"
#include "kprobe.h"
#include "kretprobe.h"
#include "memory.h"
#include "place.h"
#include "session.h"
#ifdef KPL_TEST_ROWS
#include "test_kind.h"
#endif
#include "tracepoint.h"
#include "uprobe.h"
#include "watch.h"

static const struct kpl_probe_ops *const kpl_probe_kinds[KPL_PROBE_KINDS] = {
	[KPL_PROBE_KPROBE] = &kpl_kprobe_ops,
	[KPL_PROBE_KRETPROBE] = &kpl_kretprobe_ops,
	[KPL_PROBE_FTRACE] = &kpl_ftrace_ops,
	[KPL_PROBE_DIRECT] = &kpl_direct_ops,
	[KPL_PROBE_TRACEPOINT] = &kpl_tracepoint_ops,
	[KPL_PROBE_EVENT] = &kpl_event_ops,
	[KPL_PROBE_WATCH] = &kpl_watch_ops,
	[KPL_PROBE_UPROBE] = &kpl_uprobe_ops,
	[KPL_PROBE_URETPROBE] = &kpl_uretprobe_ops,
#ifdef KPL_TEST_ROWS
	[KPL_PROBE_TEST] = &kpl_test_kind_ops,
#endif
};

const struct kpl_probe_ops *kpl_probe_kind(u32 kind)
{
	return kind < KPL_PROBE_KINDS ? kpl_probe_kinds[kind] : NULL;
}

int kpl_may_place(const struct kpl_probe_ops *ops)
{
	return ops->writes_to_others && !capable(CAP_SYS_ADMIN) ? -EPERM : 0;
}

static u64 kpl_room_memory(u32 nr)
{
	return 2ull * nr * sizeof(struct kpl_probe *);
}

int kpl_room_reserve(struct kpl_session *s, u32 nr)
{
	struct kpl_probe **room;
	int err;

	if (nr <= s->room_nr)
		return 0;
	nr = roundup_pow_of_two(max(nr, 16u));
	err = kpl_charge(s, kpl_room_memory(nr));
	if (err)
		return err;
	room = kvmalloc(kpl_room_memory(nr), KPL_GFP);
	if (!room) {
		kpl_uncharge(s, kpl_room_memory(nr));
		return -ENOMEM;
	}
	kvfree(s->room);
	kpl_uncharge(s, kpl_room_memory(s->room_nr));
	s->room = room;
	s->room_nr = nr;
	return 0;
}

void kpl_room_free(struct kpl_session *s)
{
	kvfree(s->room);
	kpl_uncharge(s, kpl_room_memory(s->room_nr));
}

struct kpl_group kpl_group_of(struct kpl_session *s)
{
	return (struct kpl_group) { .prs = s->room, .some = s->room + s->room_nr };
}

bool kpl_is_added(const struct kpl_probe *pr)
{
	return pr->added;
}

u32 kpl_group_count(const struct kpl_group *g, bool (*test)(const struct kpl_probe *pr))
{
	u32 i, nr = 0;

	for (i = 0; i < g->nr; i++)
		nr += g->prs[i] && test(g->prs[i]);
	return nr;
}

/* Kind by kind: first those that may leave some to kprobes. */
void kpl_group_run(struct kpl_group *g, enum kpl_probe_op op,
		   bool (*test)(const struct kpl_probe *pr))
{
	u32 kind, i, nr;

	for (kind = KPL_PROBE_KINDS; kind-- > 0;) {
		for (i = 0, nr = 0; i < g->nr; i++)
			if (g->prs[i] && g->prs[i]->ops == kpl_probe_kinds[kind] && test(g->prs[i]))
				g->some[nr++] = g->prs[i];
		if (nr)
			kpl_probe_kinds[kind]->run[op](g->some, nr);
	}
}

/*
 * Whose hits come together.  A place in a program is its offset, in whichever
 * file; a function and what stands behind its landing pad are one.
 */
static u64 kpl_crowd_place(const struct kpl_probe *pr)
{
	u8 text[KPL_LANDING_PAD];

	if (pr->ops == &kpl_event_ops)
		return kpl_event_place(pr);
	if (kpl_peek(text, pr->origin.addr, sizeof(text)) && kpl_is_landing_pad(text))
		return pr->origin.addr + sizeof(text);
	return pr->origin.addr;
}

/* A clock takes its part of all ticks, too. */
static u32 kpl_crowd_cost(const struct kpl_probe *pr)
{
	/* However short, each is a step of a hit, and of a switch. */
	u32 i, most = 0, least = KPL_MAX_CROWD / 4096;

	/*
	 * Who walks a stack passes by all of a call's instances, for one frame; a direct call may
	 * turn into one.
	 */
	if (pr->ops == &kpl_kretprobe_ops || pr->ops == &kpl_direct_ops)
		least = KPL_MAX_CROWD / 256;
	if (pr->ops == &kpl_event_ops)
		least = max(least, kpl_event_ticks(pr) * (KPL_MAX_CROWD / KPL_MAX_TICKS));
	for (i = 0; i < KPL_HANDLERS; i++)
		most += pr->handler[i].prog ? pr->handler[i].prog->most : 0;
	return max(most, least);
}

int kpl_probe_join_crowd(struct kpl_probe *pr)
{
	u32 cost = kpl_crowd_cost(pr);
	int err;

	pr->crowd_at = kpl_crowd_place(pr);
	err = kpl_crowd_join(pr->crowd_at, cost);
	if (!err)
		pr->crowd = cost;
	return err;
}

void kpl_probe_release(struct kpl_probe *pr)
{
	if (pr->crowd)
		kpl_crowd_leave(pr->crowd_at, pr->crowd);
	pr->crowd = 0;
	if (pr->direct)		/* its group has others, and goes with the last of them */
		return;
	if (pr->ops->free)
		pr->ops->free(pr);
	kpl_held_back(pr);
}

void kpl_group_detach(struct kpl_group *g, bool (*test)(const struct kpl_probe *pr))
{
	u32 i;

	kpl_group_run(g, KPL_OP_REMOVE, test);
	kpl_hits_drain();
	for (i = 0; i < g->nr; i++)
		if (g->prs[i] && !g->prs[i]->added)
			kpl_probe_release(g->prs[i]);
}
