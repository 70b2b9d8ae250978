// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Entry probes by ftrace: one ftrace_ops and one filter update for thousands
 * of functions.  The instruction is a nop: what runs before it and what runs
 * after it run one after the other.  Process context.
 *
 * An empty filter would mean every function: a trace is registered only after
 * its filter was set, and unregistered before its last function goes.  Nor is
 * an ftrace_ops ever used again after its filter was freed.
 *
 * What is traced has a lock of its own, of all sessions: a module that goes
 * must be forgotten at once, and can't wait for what a session does.
 */
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "area.h"
#include "compat.h"
#include "ftrace.h"
#include "hit.h"
#include "kprobe.h"
#include "sites.h"
#include "stats.h"
#include "trace.h"

#ifdef KPL_TRACES

/* Nothing under it waits for user space. */
static DEFINE_MUTEX(kpl_traces_lock);
static LIST_HEAD(kpl_traces);

u64 kpl_ftrace_feature(void)
{
	return KPL_FEATURE_FTRACE;
}

/* -------------------------------------------------------------------- memory */

static void kpl_trace_free(struct kpl_trace *t)
{
	ftrace_free_filter(&t->ops);
	list_del(&t->list);
	kvfree(t->slots);
	kvfree(t->probes);
	kvfree(t->sites);
	kfree(t);
}

static struct kpl_trace *kpl_trace_alloc(u32 nr, bool full_regs, bool moves)
{
	/* One slot, or at most half of them in use. */
	u32 bits = nr == 1 ? 0 : ilog2(roundup_pow_of_two(2 * nr));
	struct kpl_trace *t = kzalloc(sizeof(*t), KPL_GFP);

	if (!t)
		return NULL;
	list_add(&t->list, &kpl_traces);
	t->slots = kvcalloc(1u << bits, sizeof(*t->slots), KPL_GFP);
	t->probes = kvcalloc(nr, sizeof(*t->probes), KPL_GFP);
	t->sites = kvcalloc(nr, sizeof(*t->sites), KPL_GFP);
	t->shift = min(64 - bits, 63u);
	t->mask = (1u << bits) - 1;
	t->ops.flags = FTRACE_OPS_FL_PERMANENT | (full_regs ? FTRACE_OPS_FL_SAVE_REGS : 0) |
		       (moves ? FTRACE_OPS_FL_IPMODIFY : 0);
	if (!t->slots || !t->probes || !t->sites) {
		kpl_trace_free(t);
		return NULL;
	}
	return t;
}

static struct kpl_trace_slot *kpl_trace_slot(struct kpl_trace *t, unsigned long site)
{
	u32 at = kpl_trace_hash(t, site) & t->mask;

	while (t->slots[at].site && t->slots[at].site != site)
		at = (at + 1) & t->mask;
	return &t->slots[at];
}

static void kpl_trace_add(struct kpl_trace *t, struct kpl_probe *pr)
{
	u32 i;

	kpl_trace_slot(t, pr->site)->site = pr->site;
	pr->around = pr->when.mask || !pr->handler[KPL_SIDE_FIRST].run ||
		     pr->handler[KPL_SIDE_SECOND].run;
	for (i = 0; i < KPL_HANDLERS; i++)
		pr->around |= pr->handler[i].prog &&
			      (pr->handler[i].prog->reads_ip || pr->handler[i].prog->moved);
	pr->trace = t;
	pr->trace_at = t->nr_probes;
	t->probes[t->nr_probes++] = pr;
	t->refs++;
}

/*
 * Where the armed probes of this one's function lead to it, or would.  They
 * stand in the order of their numbers: a hit on its way through them comes to
 * none a second time, whichever is taken out and put in again meanwhile.
 */
static struct kpl_probe **kpl_trace_link(struct kpl_probe *pr)
{
	struct kpl_probe **link = &kpl_trace_slot(pr->trace, pr->site)->first;

	while (*link && (*link)->trace_at < pr->trace_at)
		link = &(*link)->same;
	return link;
}

/*
 * What is not armed, no hit finds, whatever ftrace still calls for.  A task
 * that was preempted on its way to our function finds it no more, one that has
 * found it has preemption off.
 */
static void kpl_trace_switch(struct kpl_probe *pr, bool armed)
{
	struct kpl_probe **link = kpl_trace_link(pr);

	if (pr->armed == armed)
		return;
	pr->armed = armed;
	pr->trace->changed = true;
	if (!armed) {
		WRITE_ONCE(*link, pr->same);
		return;
	}
	WRITE_ONCE(pr->same, *link);
	smp_store_release(link, pr);	/* with what it leads to */
}

static void kpl_ftrace_free(struct kpl_probe *pr)
{
	struct kpl_trace *t = pr->trace;

	if (!t)
		return;
	mutex_lock(&kpl_traces_lock);
	t->probes[pr->trace_at] = NULL;
	/* What could not be unregistered must stay. */
	if (!--t->refs && !t->registered)
		kpl_trace_free(t);
	mutex_unlock(&kpl_traces_lock);
}

/* -------------------------------------------------------------- what is traced */

static int kpl_trace_unregister(struct kpl_trace *t)
{
	int err;

	if (!t->registered)
		return 0;
	err = unregister_ftrace_function(&t->ops);
	if (err) {
		/* ftrace has shut itself down; its text may still call ours. */
		pr_err("kprobe_lua: can't unregister from ftrace (%d), staying\n", err);
		__module_get(THIS_MODULE);
		return err;
	}
	t->registered = false;
	return 0;
}

/* What ftrace no longer knows would keep the filter from ever changing again. */
static void kpl_trace_drop_unknown(struct kpl_trace *t)
{
	u32 i;

	for (i = 0; i < t->nr_probes; i++) {
		struct kpl_probe *pr = t->probes[i];

		if (!pr || !pr->armed || kpl_sites_known(&pr->site, 1) != -EINVAL)
			continue;
		pr->gone = true;
		kpl_trace_switch(pr, false);
		cond_resched();
	}
}

static int kpl_trace_filter(struct kpl_trace *t)
{
	u32 i, nr = 0;
	int err;

	for (i = 0; i < t->nr_probes; i++)
		if (t->probes[i] && t->probes[i]->armed)
			t->sites[nr++] = t->probes[i]->site;
	if (!nr)
		return kpl_trace_unregister(t);
	err = ftrace_set_filter_ips(&t->ops, t->sites, nr, 0, 1);
	if (!err && !t->registered) {
		err = register_ftrace_function(&t->ops);
		t->registered = !err;
	}
	return err;
}

/* Makes the filter the functions of the armed probes. */
static int kpl_trace_update(struct kpl_trace *t)
{
	int err = kpl_trace_filter(t);

	if (err == -EINVAL) {
		kpl_trace_drop_unknown(t);
		err = kpl_trace_filter(t);
	}
	t->changed = false;
	return err;
}

/* After `armed` was set in some probes; each trace is updated once. */
static void kpl_traces_update(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kpl_trace *t = prs[i]->trace;

		if (t->changed)
			t->error = kpl_trace_update(t);
		prs[i]->error = t->error;
	}
}

/* ----------------------------------------------------------------- operations */

/* What ftrace has no site for may be a kprobe, whose turn to be added comes after. */
static void kpl_sites_leave(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (prs[i]->error != -EINVAL || !prs[i]->else_kprobe)
			continue;
		prs[i]->error = 0;
		prs[i]->ops = &kpl_kprobe_ops;
	}
}

static bool kpl_wants_full_regs(const struct kpl_probe *pr)
{
	u32 i;

	for (i = 0; i < KPL_HANDLERS; i++)
		if (pr->handler[i].prog && pr->handler[i].prog->full_regs)
			return true;
	return false;
}

static bool kpl_moves(const struct kpl_probe *pr)
{
	const struct kpl_prog *prog = pr->handler[KPL_SIDE_FIRST].prog;

	return prog && prog->moved;
}

/*
 * The probes without error whose handlers want this kind of registers, and may
 * have functions go on elsewhere: of those, a function has one trace at most.
 */
static void kpl_trace_make(struct kpl_probe **prs, u32 nr, bool full_regs, bool moves)
{
	struct kpl_trace *t = NULL;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (prs[i]->error || prs[i]->ops != &kpl_ftrace_ops ||
		    kpl_wants_full_regs(prs[i]) != full_regs || kpl_moves(prs[i]) != moves)
			continue;
		if (!t)
			t = kpl_trace_alloc(nr, full_regs, moves);
		if (!t) {
			prs[i]->error = -ENOMEM;
			continue;
		}
		kpl_trace_add(t, prs[i]);
		prs[i]->added = true;
		kpl_step(prs[i]);
	}
	if (t)	/* a single slot is of one probe alone */
		t->ops.func = t->mask ? kpl_hit_traces_for(t->probes, t->nr_probes) :
					kpl_hit_trace_for(t->probes[0]);
}

static void kpl_ftrace_add(struct kpl_probe **prs, u32 nr)
{
	mutex_lock(&kpl_traces_lock);
	kpl_sites_find(prs, nr);
	kpl_sites_leave(prs, nr);
	kpl_trace_make(prs, nr, false, false);
	kpl_trace_make(prs, nr, true, false);
	kpl_trace_make(prs, nr, false, true);
	kpl_trace_make(prs, nr, true, true);
	mutex_unlock(&kpl_traces_lock);
}

static void kpl_ftrace_switch(struct kpl_probe **prs, u32 nr, bool armed)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->trace->error = 0;
		kpl_trace_switch(prs[i], armed && !prs[i]->gone);
	}
	kpl_traces_update(prs, nr);
	for (i = 0; armed && i < nr; i++) {
		if (prs[i]->gone)
			prs[i]->error = -ENOENT;
		/* What could not be armed is not. */
		if (prs[i]->error)
			kpl_trace_switch(prs[i], false);
	}
}

static void kpl_ftrace_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	mutex_lock(&kpl_traces_lock);
	kpl_ftrace_switch(prs, nr, true);
	mutex_unlock(&kpl_traces_lock);
	for (i = 0; i < nr; i++)
		kpl_step(prs[i]);
}

static void kpl_ftrace_disarm(struct kpl_probe **prs, u32 nr)
{
	mutex_lock(&kpl_traces_lock);
	kpl_ftrace_switch(prs, nr, false);
	mutex_unlock(&kpl_traces_lock);
}

static void kpl_ftrace_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	mutex_lock(&kpl_traces_lock);
	kpl_ftrace_switch(prs, nr, false);
	for (i = 0; i < nr; i++)
		prs[i]->added = false;
	mutex_unlock(&kpl_traces_lock);
}

/* Its places in two lists, and four slots, of which at most half are in use. */
static u64 kpl_ftrace_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return 4 * sizeof(struct kpl_trace_slot) + sizeof(struct kpl_probe *) +
	       sizeof(unsigned long);
}

static enum kpl_probe_state kpl_ftrace_state(struct kpl_probe *pr)
{
	if (pr->gone)
		return KPL_STATE_GONE;
	return pr->armed ? KPL_STATE_FTRACE : KPL_STATE_DISABLED;
}

static void kpl_ftrace_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	kpl_counts_read(&pr->origin, KPL_SIDE_FIRST, &out->entry);
	kpl_counts_read(&pr->origin, KPL_SIDE_SECOND, &out->ret);
	out->moved = kpl_counter_read(&pr->origin, KPL_SIDE_FIRST, KPL_C_MOVED);
}

/* ---------------------------------------------------------- modules' code that goes */

/*
 * ftrace forgets the sites of code that goes, our filter would not: what comes
 * to stand there must not be taken for it.
 */
static void kpl_trace_forget(struct kpl_trace *t, const struct module *mod, bool init_alone)
{
	u32 i;

	for (i = 0; i < t->nr_probes; i++) {
		struct kpl_probe *pr = t->probes[i];

		if (!pr || !pr->added)
			continue;
		if (init_alone ? !within_module_init(pr->site, mod) : !within_module(pr->site, mod))
			continue;
		pr->gone = true;
		kpl_trace_switch(pr, false);
	}
	if (t->changed)
		kpl_trace_update(t);
}

/* A module that has come up frees its start-up code next. */
static int kpl_ftrace_module(struct notifier_block *nb, unsigned long state, void *mod)
{
	struct kpl_trace *t;

	if (state != MODULE_STATE_GOING && state != MODULE_STATE_LIVE)
		return NOTIFY_DONE;
	mutex_lock(&kpl_traces_lock);
	list_for_each_entry(t, &kpl_traces, list)
		kpl_trace_forget(t, mod, state == MODULE_STATE_LIVE);
	mutex_unlock(&kpl_traces_lock);
	return NOTIFY_DONE;
}

static struct notifier_block kpl_ftrace_modules = {
	.notifier_call = kpl_ftrace_module,
};

int kpl_ftrace_init(void)
{
	return register_module_notifier(&kpl_ftrace_modules);
}

void kpl_ftrace_exit(void)
{
	unregister_module_notifier(&kpl_ftrace_modules);
}

const struct kpl_probe_ops kpl_ftrace_ops = {
	.kind = KPL_PROBE_FTRACE,
	.changes = true,
	.flags = KPL_ATTACH_F_ELSE_KPROBE,
	.kinds = { KPL_PROG_PRE, KPL_PROG_POST, KPL_PROG_FAULT },
	.run[KPL_OP_ADD] = kpl_ftrace_add,
	.run[KPL_OP_ARM] = kpl_ftrace_arm,
	.run[KPL_OP_DISARM] = kpl_ftrace_disarm,
	.run[KPL_OP_REMOVE] = kpl_ftrace_remove,
	.memory = kpl_ftrace_memory,
	.free = kpl_ftrace_free,
	.state = kpl_ftrace_state,
	.stats = kpl_ftrace_stats,
};

#else

/* User space sees that the feature is missing and takes kprobes. */
u64 kpl_ftrace_feature(void)
{
	return 0;
}

int kpl_ftrace_init(void)
{
	return 0;
}

void kpl_ftrace_exit(void)
{
}

static void kpl_ftrace_refuse(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = prs[i]->else_kprobe ? 0 : -EOPNOTSUPP;
		if (prs[i]->else_kprobe)
			prs[i]->ops = &kpl_kprobe_ops;
	}
}

/* None is ever added: nothing else is called. */
const struct kpl_probe_ops kpl_ftrace_ops = {
	.kind = KPL_PROBE_FTRACE,
	.changes = true,
	.flags = KPL_ATTACH_F_ELSE_KPROBE,
	.kinds = { KPL_PROG_PRE, KPL_PROG_POST, KPL_PROG_FAULT },
	.run[KPL_OP_ADD] = kpl_ftrace_refuse,
};

#endif
