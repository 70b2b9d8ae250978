// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Traces: what they are made of, which probes hits find, which functions the
 * kernel calls them for.  Process context, ftrace.c's lock held.
 *
 * An empty filter would mean every function: a trace is registered only after
 * its filter was set, and unregistered before its last function goes.  Nor is
 * an ftrace_ops ever used again after its filter was freed.
 */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "hit.h"
#include "place.h"
#include "refused.h"
#include "session.h"
#include "sites.h"
#include "traces.h"

#ifdef KPL_TRACES

#define KPL_BPF_TRIES	20	/* a millisecond each */

/* -------------------------------------------------------------------- memory */

void kpl_trace_free(struct kpl_trace *t)
{
	ftrace_free_filter(&t->ops);
	list_del(&t->list);
	if (t->slots != &t->sole)
		kvfree(t->slots);
	kvfree(t->sites);
	kpl_uncharge_shared(t->charged);
	kfree(t);
}

/* Of `nr` functions: one slot, or at most half of them in use.  An ERR_PTR on failure. */
struct kpl_trace *kpl_trace_alloc(u32 nr, bool full_regs, bool moves)
{
	u32 bits = nr == 1 ? 0 : ilog2(roundup_pow_of_two(2 * nr));
	/* The page is ftrace's, of the code that calls us. */
	u64 charged = sizeof(struct kpl_trace) + PAGE_SIZE + nr * sizeof(unsigned long) +
		      (nr == 1 ? 0 : sizeof(struct kpl_trace_slot) << bits);
	int err = kpl_charge_shared(charged);
	struct kpl_trace *t;

	if (err)
		return ERR_PTR(err);
	t = kzalloc(sizeof(*t), KPL_GFP_SHARED);
	if (!t) {
		kpl_uncharge_shared(charged);
		return ERR_PTR(-ENOMEM);
	}
	t->charged = charged;
	INIT_LIST_HEAD(&t->probes);
	INIT_LIST_HEAD(&t->list);
	t->slots = bits ? kvcalloc(1u << bits, sizeof(*t->slots), KPL_GFP_SHARED) : &t->sole;
	t->sites = kvcalloc(nr, sizeof(*t->sites), KPL_GFP_SHARED);
	t->shift = min(64 - bits, 63u);
	t->mask = (1u << bits) - 1;
	t->moves = moves;
	t->ops.flags = FTRACE_OPS_FL_PERMANENT | (full_regs ? FTRACE_OPS_FL_SAVE_REGS : 0) |
		       (moves ? FTRACE_OPS_FL_IPMODIFY : 0);
	if (!t->slots || !t->sites) {
		kpl_trace_free(t);
		return ERR_PTR(-ENOMEM);
	}
	return t;
}

/* That of the site, or the empty one where it would be; NULL: there is no room for it. */
static struct kpl_trace_slot *kpl_trace_slot(struct kpl_trace *t, unsigned long site)
{
	u32 at;

	if (!t->mask)
		return !t->sole.site || t->sole.site == site ? &t->sole : NULL;
	at = kpl_trace_hash(t, site);
	while (t->slots[at].site && t->slots[at].site != site)
		at = (at + 1) & t->mask;
	return &t->slots[at];
}

bool kpl_trace_has(struct kpl_trace *t, unsigned long site)
{
	const struct kpl_trace_slot *slot = kpl_trace_slot(t, site);

	return slot && slot->site;
}

bool kpl_trace_calls(struct kpl_trace *t, unsigned long site)
{
	const struct kpl_trace_slot *slot = kpl_trace_slot(t, site);

	return t->registered && slot && slot->first;
}

static enum kpl_way kpl_way_of(const struct kpl_probe *pr)
{
	const struct kpl_handler *handler = &pr->handler[KPL_SIDE_FIRST];
	u32 i;

	if (pr->when.mask || !handler->run || pr->handler[KPL_SIDE_SECOND].run)
		return KPL_WAY_AROUND;
	for (i = 0; i < KPL_HANDLERS; i++)
		if (pr->handler[i].prog &&
		    (pr->handler[i].prog->reads_ip || pr->handler[i].prog->moved))
			return KPL_WAY_AROUND;
	if (handler->adds.value)
		return KPL_WAY_ADDS;
	if (handler->looks != KPL_LOOKS_AT_ALL)
		return KPL_WAY_BRIEF;
	/* A fault handler, which looks at what is there, may run behind it. */
	if (handler->prog->status_alone && !pr->handler[KPL_HANDLER_FAULT].run)
		return KPL_WAY_STATUS;
	return KPL_WAY_LOOK;
}

void kpl_trace_add(struct kpl_trace *t, struct kpl_probe *pr)
{
	kpl_trace_slot(t, pr->site)->site = pr->site;
	pr->way = kpl_way_of(pr);
	pr->trace = t;
	list_add_tail(&pr->in_list, &t->probes);
	pr->added = true;
	kpl_step(pr);
}

/*
 * Where the armed probes of this one's function lead to it, or would.  They
 * stand in the order in which they were made: a hit on its way through them
 * comes to none a second time, whichever is taken out and put in again meanwhile.
 */
static struct kpl_probe **kpl_trace_link(struct kpl_trace_slot *slot, const struct kpl_probe *pr)
{
	struct kpl_probe **link = &slot->first;

	while (*link && (*link)->origin.serial < pr->origin.serial)
		link = &(*link)->same;
	return link;
}

/* A hit finds one that is alone at its function by one load, or all by the others. */
static void kpl_trace_shorten(struct kpl_trace *t, struct kpl_trace_slot *slot)
{
	struct kpl_probe *pr = slot->first;

	if (pr && (pr->same || !kpl_hit_fits(t, pr)))
		pr = NULL;
	smp_store_release(&slot->only, pr);
}

/*
 * What is not armed, no hit finds, whatever ftrace still calls for.  A task
 * that was preempted on its way to our function finds it no more, one that has
 * found it has preemption off.
 */
void kpl_trace_switch(struct kpl_probe *pr, bool armed)
{
	struct kpl_trace *t = pr->trace;
	struct kpl_trace_slot *slot = kpl_trace_slot(t, pr->site);
	struct kpl_probe **link = kpl_trace_link(slot, pr);
	bool wanted = slot->first;

	if (pr->armed == armed)
		return;
	pr->armed = armed;
	if (armed) {
		WRITE_ONCE(pr->same, *link);
		smp_store_release(link, pr);	/* with what it leads to */
	} else {
		WRITE_ONCE(*link, pr->same);
	}
	kpl_trace_shorten(t, slot);
	t->changed |= wanted != !!slot->first;
}

/* -------------------------------------------------------------- what is traced */

static int kpl_trace_unregister(struct kpl_trace *t)
{
	int err;

	if (!t->registered)
		return 0;
	err = unregister_ftrace_function(&t->ops);
	if (!err && kpl_ftrace_is_dead())
		err = -ENODEV;
	if (err) {
		/* Its text may still call ours. */
		pr_err("kprobe_lua: can't unregister from ftrace (%d), staying\n", err);
		__module_get(THIS_MODULE);
		return err;
	}
	t->registered = false;
	if (t->moves)
		kpl_refused_release(KPL_REFUSED_FUNCTIONS);
	return 0;
}

/* What ftrace no longer knows would keep the filter from ever changing again. */
static void kpl_trace_drop_unknown(struct kpl_trace *t)
{
	struct kpl_probe *pr;

	list_for_each_entry(pr, &t->probes, in_list) {
		if (!pr->armed || kpl_sites_known(&pr->site, 1) != -EINVAL)
			continue;
		pr->gone = true;
		kpl_trace_switch(pr, false);
		cond_resched_tasks_rcu_qs();
	}
}

/*
 * While BPF changes its own call of such a function, ftrace says -EAGAIN to what
 * moves it.  What fails later may have stood in ftrace's list for a moment.
 */
static int kpl_trace_register(struct kpl_trace *t)
{
	int err = register_ftrace_function(&t->ops), tries;

	for (tries = 0; err == -EAGAIN && tries < KPL_BPF_TRIES; tries++) {
		msleep(1);
		err = register_ftrace_function(&t->ops);
	}
	if (err && err != -EAGAIN)
		kpl_ftrace_settle();
	return err;
}

static int kpl_trace_filter(struct kpl_trace *t)
{
	u32 i, nr = 0;
	int err;

	for (i = 0; i <= t->mask; i++)
		if (t->slots[i].first)
			t->sites[nr++] = t->slots[i].site;
	if (!nr)
		return kpl_trace_unregister(t);
	err = ftrace_set_filter_ips(&t->ops, t->sites, nr, 0, 1);
	if (!err && !t->registered) {
		err = kpl_trace_register(t);
		t->registered = !err;
		if (t->registered && t->moves)
			kpl_refused_hold(KPL_REFUSED_FUNCTIONS);
	}
	return err;
}

/* Makes the filter the functions of the armed probes. */
int kpl_trace_update(struct kpl_trace *t)
{
	int err = kpl_trace_filter(t);

	if (err == -EINVAL) {
		kpl_trace_drop_unknown(t);
		err = kpl_trace_filter(t);
	}
	t->changed = err == -ENOMEM;	/* the filter is as before: another time */
	return err;
}

/* No hit finds any of its probes. */
static void kpl_trace_give_up(struct kpl_trace *t)
{
	struct kpl_probe *pr;

	pr_warn("kprobe_lua: no filter for a trace, all its probes are off\n");
	list_for_each_entry(pr, &t->probes, in_list)
		kpl_trace_switch(pr, false);
	kpl_trace_update(t);
}

/* ---------------------------------------------------------- modules' code that goes */

/*
 * ftrace forgets the sites of code that goes, our filter would not: what comes
 * to stand there must not be taken for it.
 */
void kpl_trace_forget(struct kpl_trace *t, const struct module *mod, bool init_alone)
{
	struct kpl_probe *pr;

	list_for_each_entry(pr, &t->probes, in_list) {
		if (!pr->added)
			continue;
		if (!kpl_goes_with(mod, pr->site, init_alone))
			continue;
		pr->gone = true;
		kpl_trace_switch(pr, false);
	}
	if (t->changed && kpl_trace_update(t) == -ENOMEM)
		kpl_trace_give_up(t);
}

#endif
