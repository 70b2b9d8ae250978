// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Entry probes by ftrace: one ftrace_ops and one filter update for thousands
 * of functions.  The instruction is a nop: what runs before it and what runs
 * after it run one after the other.  Process context.
 *
 * Sessions share traces, and a lock of their own guards these: a module that
 * goes must be forgotten at once, and can't wait for what a session does.  What
 * a session's change of a filter fails for leaves the filter as it was, and
 * takes that session's probes out again.
 */
#include <linux/module.h>

#include "compat.h"
#include "ftrace.h"
#include "going.h"
#include "hit.h"
#include "kprobe.h"
#include "sites.h"
#include "stats.h"
#include "traces.h"

#ifdef KPL_TRACES

/*
 * At a function with two ftrace_ops, ftrace asks all that there are for each
 * call; and each has a page of the modules' memory.  More functions that are
 * probed by calls of their own are kprobes, which share one.
 */
#define KPL_MAX_TRACES		512
#define KPL_MAX_TRACES_MANY	64	/* beyond these, for so many functions at least: */
#define KPL_TRACE_MANY		16

/* Nothing under it waits for user space. */
static DEFINE_MUTEX(kpl_traces_lock);
static LIST_HEAD(kpl_traces);
static u32 kpl_traces_nr;

u64 kpl_ftrace_feature(void)
{
	return KPL_FEATURE_FTRACE;
}

/* --------------------------------------------------------------------- changes */

/* After some probes were armed; each trace is updated once. */
static void kpl_traces_call(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kpl_trace *t = prs[i]->trace;

		if (t->changed && !t->error)
			t->error = kpl_trace_update(t);
		prs[i]->error = t->error;
	}
}

/*
 * After some were disarmed.  There may be hundreds of traces: who waits has its turn
 * in between, and may change them, too; a trace that has a probe stays.
 */
static void kpl_traces_quit(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		bool again = i && prs[i]->trace == prs[i - 1]->trace;

		prs[i]->error = again ? prs[i - 1]->error : 0;
		if (!prs[i]->trace->changed || prs[i]->error)
			continue;
		prs[i]->error = kpl_trace_update(prs[i]->trace);
		mutex_unlock(&kpl_traces_lock);
		mutex_lock(&kpl_traces_lock);
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
 * Whether a probe may join.  What may have functions go on elsewhere is one
 * session's, and does not grow once it is registered: a second one of the same
 * function is refused by ftrace, and so is one where a direct call is, which it
 * asks about only when it registers.
 */
static bool kpl_trace_takes(struct kpl_trace *t, const struct kpl_probe *pr)
{
	const struct kpl_probe *first;

	if (!t->moves)
		return true;
	if (list_empty(&t->probes))	/* about to go: kpl_traces_part() */
		return false;
	first = list_first_entry(&t->probes, struct kpl_probe, in_list);
	return (!t->registered || kpl_trace_calls(t, pr->site)) &&
	       first->origin.session == pr->origin.session;
}

/*
 * The one that a probe joins; NULL: none has its function.  Of those that may
 * have it go on elsewhere, the one that is called for it.
 */
static struct kpl_trace *kpl_trace_of(const struct kpl_probe *pr, bool full_regs, bool moves)
{
	struct kpl_trace *t, *idle = NULL;

	list_for_each_entry(t, &kpl_traces, list) {
		if (t->moves != moves || full_regs != !!(t->ops.flags & FTRACE_OPS_FL_SAVE_REGS) ||
		    !kpl_trace_has(t, pr->site) || !kpl_trace_takes(t, pr))
			continue;
		if (!moves || kpl_trace_calls(t, pr->site))
			return t;
		idle = idle ?: t;
	}
	return idle;
}

static bool kpl_is_to_trace(const struct kpl_probe *pr, bool full_regs, bool moves)
{
	return !pr->error && !pr->added && pr->ops == &kpl_ftrace_ops &&
	       kpl_wants_full_regs(pr) == full_regs && kpl_moves(pr) == moves;
}

/* How many functions a new trace is for; 1, if all probes are of the same one. */
static u32 kpl_trace_join(struct kpl_probe **prs, u32 nr, bool full_regs, bool moves)
{
	const struct kpl_probe *last = NULL;
	bool several = false;
	u32 i, left = 0;

	for (i = 0; i < nr; i++) {
		struct kpl_trace *t;

		if (!kpl_is_to_trace(prs[i], full_regs, moves))
			continue;
		cond_resched_tasks_rcu_qs();
		t = kpl_trace_of(prs[i], full_regs, moves);
		if (t) {
			kpl_trace_add(t, prs[i]);
			continue;
		}
		several |= last && last->site != prs[i]->site;
		last = prs[i];
		left++;
	}
	return several ? left : !!left;
}

/* One that is for many functions is worth its place. */
static struct kpl_trace *kpl_trace_new(u32 nr, bool full_regs, bool moves)
{
	u32 most = KPL_MAX_TRACES + (nr >= KPL_TRACE_MANY ? KPL_MAX_TRACES_MANY : 0);
	struct kpl_trace *t;

	if (kpl_traces_nr >= most)
		return ERR_PTR(-E2BIG);
	t = kpl_trace_alloc(nr, full_regs, moves);
	if (IS_ERR(t))
		return t;
	list_add(&t->list, &kpl_traces);
	kpl_traces_nr++;
	return t;
}

/* After its last probe has left, it goes.  What could not be unregistered must stay. */
static void kpl_trace_left(struct kpl_trace *t)
{
	if (!list_empty(&t->probes) || t->registered)
		return;
	kpl_trace_free(t);
	kpl_traces_nr--;
}

/* What no trace was made for. */
static void kpl_trace_refuse(struct kpl_probe *pr, bool moves, int err)
{
	if (err == -E2BIG && pr->else_kprobe && !moves)
		pr->ops = &kpl_kprobe_ops;
	else
		pr->error = err;
}

/*
 * The probes without error whose handlers want this kind of registers, and may
 * have functions go on elsewhere.
 */
static void kpl_trace_make(struct kpl_probe **prs, u32 nr, bool full_regs, bool moves)
{
	u32 i, left = kpl_trace_join(prs, nr, full_regs, moves);
	struct kpl_trace *t;

	if (!left)
		return;
	t = kpl_trace_new(left, full_regs, moves);
	for (i = 0; i < nr; i++) {
		if (!kpl_is_to_trace(prs[i], full_regs, moves))
			continue;
		if (IS_ERR(t))
			kpl_trace_refuse(prs[i], moves, PTR_ERR(t));
		else
			kpl_trace_add(t, prs[i]);
	}
	if (!IS_ERR(t))
		kpl_hit_choose(t);
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

/* Whether arming a probe that may have its function go on elsewhere is another trace's matter. */
static bool kpl_is_anothers(const struct kpl_probe *pr)
{
	struct kpl_trace *t = pr->trace;

	if (pr->gone || !t->moves || kpl_trace_calls(t, pr->site))
		return false;
	if (t->changed)
		kpl_trace_update(t);	/* what there was no memory for before */
	if (t->registered)
		return true;
	t = kpl_trace_of(pr, kpl_wants_full_regs(pr), true);
	return t && kpl_trace_calls(t, pr->site);
}

/*
 * What a registered trace would have to grow for becomes others: to register it
 * anew would let go of its functions meanwhile.  Those that can't stay where they
 * are, have an error, and are last; how many can.
 */
static u32 kpl_traces_part(struct kpl_probe **prs, u32 nr)
{
	struct kpl_trace *t, *next;
	u32 i, good = 0;

	for (i = 0; i < nr; i++) {
		struct kpl_probe *pr = prs[i];

		pr->error = 0;
		if (!kpl_is_anothers(pr))
			continue;
		list_del_init(&pr->in_list);
		pr->added = false;
	}
	kpl_trace_make(prs, nr, false, true);
	kpl_trace_make(prs, nr, true, true);
	for (i = 0; i < nr; i++) {
		if (!prs[i]->added) {
			list_add_tail(&prs[i]->in_list, &prs[i]->trace->probes);
			prs[i]->added = true;
		}
		if (prs[i]->error)
			continue;
		swap(prs[i], prs[good]);
		good++;
	}
	list_for_each_entry_safe(t, next, &kpl_traces, list)
		kpl_trace_left(t);
	return good;
}

static void kpl_ftrace_switch_on(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->trace->error = 0;
		prs[i]->was_armed = prs[i]->armed;
		kpl_trace_switch(prs[i], !prs[i]->gone);
		cond_resched_tasks_rcu_qs();
	}
	kpl_traces_call(prs, nr);
	for (i = 0; i < nr; i++) {
		if (prs[i]->gone)
			prs[i]->error = -ENOENT;
		/* What could not be armed is not. */
		if (prs[i]->error && !prs[i]->was_armed)
			kpl_trace_switch(prs[i], false);
	}
}

static void kpl_ftrace_switch_off(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		kpl_trace_switch(prs[i], false);
		cond_resched_tasks_rcu_qs();
	}
	kpl_traces_quit(prs, nr);
}

static void kpl_ftrace_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	mutex_lock(&kpl_traces_lock);
	kpl_ftrace_switch_on(prs, kpl_traces_part(prs, nr));
	mutex_unlock(&kpl_traces_lock);
	for (i = 0; i < nr; i++)
		kpl_step(prs[i]);
}

static void kpl_ftrace_disarm(struct kpl_probe **prs, u32 nr)
{
	mutex_lock(&kpl_traces_lock);
	kpl_ftrace_switch_off(prs, nr);
	mutex_unlock(&kpl_traces_lock);
}

static void kpl_ftrace_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	mutex_lock(&kpl_traces_lock);
	kpl_ftrace_switch_off(prs, nr);
	for (i = 0; i < nr; i++)
		prs[i]->added = false;
	mutex_unlock(&kpl_traces_lock);
}

static void kpl_ftrace_free(struct kpl_probe *pr)
{
	struct kpl_trace *t = pr->trace;

	if (!t)
		return;
	mutex_lock(&kpl_traces_lock);
	pr->trace = NULL;
	list_del(&pr->in_list);
	kpl_trace_left(t);
	mutex_unlock(&kpl_traces_lock);
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
	.priority = KPL_MODULES_FIRST,
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
	.rules.flags = KPL_ATTACH_F_ELSE_KPROBE,
	.kinds = { KPL_PROG_PRE, KPL_PROG_POST, KPL_PROG_FAULT },
	.run[KPL_OP_ADD] = kpl_ftrace_add,
	.run[KPL_OP_ARM] = kpl_ftrace_arm,
	.run[KPL_OP_DISARM] = kpl_ftrace_disarm,
	.run[KPL_OP_REMOVE] = kpl_ftrace_remove,
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
	.rules.flags = KPL_ATTACH_F_ELSE_KPROBE,
	.kinds = { KPL_PROG_PRE, KPL_PROG_POST, KPL_PROG_FAULT },
	.run[KPL_OP_ADD] = kpl_ftrace_refuse,
};

#endif
