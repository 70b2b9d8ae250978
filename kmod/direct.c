// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Return probes by direct calls: ftrace's site at a function's entry calls a
 * stub (stubs.h), which calls the function.  Process context.
 *
 * What can't go that way becomes a kretprobe: before it is added, or when it is
 * to be armed and somebody else has the function.  Of one function there is
 * one direct call in the whole kernel.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "call.h"
#include "change.h"
#include "compat.h"
#include "direct.h"
#include "direct_set.h"
#include "going.h"
#include "kretprobe.h"
#include "place.h"
#include "session.h"
#include "sites.h"

static bool kpl_direct = true;
module_param_named(direct, kpl_direct, bool, 0644);
MODULE_PARM_DESC(direct, "Return probes may have functions call them directly, and BPF can't then");

/* What is left to others, with the reason; without them, an error. */
static void kpl_direct_leave(struct kpl_probe *pr, enum kpl_why why)
{
	pr->why = why;
	pr->error = pr->else_kprobe ? kpl_kretprobe_take(pr) : -EOPNOTSUPP;
}

#ifdef KPL_DIRECT_CALLS

static uint kpl_direct_max = KPL_DIRECT_MAX;
module_param_named(direct_max, kpl_direct_max, uint, 0644);
MODULE_PARM_DESC(direct_max, "Most functions called directly; others get kretprobes");

/*
 * So many functions of one attach call get a stub each.  More share one: their
 * calls take longer, but each stub of its own is a grace period at the end.
 */
#define KPL_DIRECT_EACH	2

u64 kpl_direct_feature(void)
{
	return KPL_FEATURE_DIRECT;
}

static void kpl_direct_free_probe(struct kpl_probe *pr)
{
	if (!pr->direct)
		return;
	mutex_lock(&kpl_directs_lock);
	kpl_direct_drop(pr);
	mutex_unlock(&kpl_directs_lock);
}

/* ----------------------------------------------------------------- operations */

static enum kpl_why kpl_handler_why(const struct kpl_handler *handler, u64 regs)
{
	const struct kpl_prog *prog = handler->prog;

	if (!prog)
		return KPL_WHY_NONE;
	if (prog->regs_read & ~(regs | KPL_FRAME_REGS))
		return KPL_WHY_REGS;
	return prog->data_size > KPL_FRAME_DATA ? KPL_WHY_DATA : KPL_WHY_NONE;
}

static enum kpl_why kpl_direct_why(const struct kpl_probe *pr)
{
	enum kpl_why why = kpl_handler_why(&pr->handler[KPL_SIDE_FIRST], KPL_CALL_REGS);

	if (!READ_ONCE(kpl_direct))
		return KPL_WHY_OFF;
	if (pr->stack_args > KPL_STUB_STACK_ARGS)
		return KPL_WHY_STACK;
	return why ?: kpl_handler_why(&pr->handler[KPL_SIDE_SECOND], KPL_RETURN_REGS);
}

/*
 * Those that can't be by direct calls become something else.  How many words of
 * arguments the function finds on the stack is user space's word: with too few,
 * it reads others, and may write where they point to; too many do no harm.
 */
static void kpl_direct_sort(struct kpl_probe **prs, u32 nr)
{
	bool there = kpl_stubs_there(), trusted = kpl_may_write_kernel();
	u32 i;

	kpl_sites_find(prs, nr);
	for (i = 0; i < nr; i++) {
		struct kpl_probe *pr = prs[i];
		enum kpl_why why = kpl_direct_why(pr);

		if (!why && !trusted)
			why = KPL_WHY_RIGHTS;
		if (!why && !there)
			why = KPL_WHY_STUBS;
		if (!why && (pr->error == -EINVAL || kpl_check_place(pr->origin.addr, true)))
			why = KPL_WHY_SITE;
		if (why)
			kpl_direct_leave(pr, why);
		cond_resched_tasks_rcu_qs();
	}
}

static bool kpl_is_for_stub(const struct kpl_probe *pr, bool stack)
{
	return pr->ops == &kpl_direct_ops && !pr->error && !pr->added &&
	       !!pr->stack_args == stack;
}

/* Puts a probe into a group; false: another one of the same function is there. */
static bool kpl_direct_put(struct kpl_direct *d, struct kpl_probe *pr)
{
	struct kpl_table_slot *slot;

	if (d->of_many) {
		slot = kpl_table_slot(&d->table, kpl_behind_site(pr->site));
		if (slot->at)
			return false;
		slot->at = kpl_behind_site(pr->site);
	}
	pr->direct = d;
	pr->direct_at = d->nr;
	d->probes[d->nr++] = pr;
	d->refs++;
	kpl_directs_nr++;
	return true;
}

/* A stub for the group, and what it calls. */
static enum kpl_why kpl_direct_aim(struct kpl_direct *d, bool stack)
{
	enum kpl_stub_kind kind = d->of_many ? KPL_STUB_MANY : KPL_STUB_ONE;
	struct kpl_probe *first = d->probes[0];

	d->stub = kpl_stubs_used->take(kind + stack);
	if (!d->stub)
		return KPL_WHY_SPENT;
	d->stub->owner = d->of_many ? (const void *)&d->table : first;
	d->stub->count = (unsigned long __percpu *)
			 &first->origin.outcomes->side[KPL_SIDE_FIRST].n[KPL_C_HANDLED];
	d->behind = d->of_many ? 0 : kpl_behind_site(first->site);
	d->text = kpl_stubs_used->aim(d->stub, d->behind,
				      kpl_enter_for(d->probes, d->nr, d->of_many),
				      kpl_exit_for(d->probes, d->nr, d->of_many));
	return KPL_WHY_NONE;
}

/* All of the group, which has not been registered. */
static void kpl_direct_disband(struct kpl_direct *d, enum kpl_why why)
{
	u32 i, nr = d->nr;

	for (i = 0; i < nr; i++) {
		struct kpl_probe *pr = d->probes[i];

		kpl_direct_drop(pr);	/* the last one frees it */
		kpl_direct_leave(pr, why);
	}
}

static bool kpl_in_module(const struct kpl_probe *pr)
{
	return pr->site >= MODULES_VADDR && pr->site < MODULES_END;
}

/*
 * One group of those without error.  Modules' functions are a set of their own:
 * when a module goes, it is registered anew, and misses calls meanwhile.
 */
static void kpl_direct_make(struct kpl_probe **prs, u32 nr, bool stack, bool of_many)
{
	struct kpl_direct *d = kpl_direct_alloc(nr, of_many);
	u32 in_module, i, from = 0;
	bool sets = d;

	for (in_module = 0; in_module < 2; in_module++) {
		for (i = 0; i < nr; i++) {
			if (!kpl_is_for_stub(prs[i], stack) || kpl_in_module(prs[i]) != in_module)
				continue;
			if (!d)
				prs[i]->error = -ENOMEM;
			else if (kpl_is_going(prs[i]->site))
				prs[i]->error = -ENOENT;
			else if (kpl_directs_nr >= READ_ONCE(kpl_direct_max))
				kpl_direct_leave(prs[i], KPL_WHY_MANY);
			else if (!kpl_direct_put(d, prs[i]))
				kpl_direct_leave(prs[i], KPL_WHY_BUSY);
		}
		if (d && d->nr > from)
			sets &= !!kpl_set_alloc(&d->sets, from, d->nr);
		from = d ? d->nr : 0;
	}
	if (!d)
		return;
	if (!d->nr) {
		kpl_direct_free(d);
		return;
	}
	if (!sets || kpl_direct_aim(d, stack)) {
		kpl_direct_disband(d, KPL_WHY_SPENT);
		return;
	}
	for (i = 0; i < d->nr; i++) {
		d->probes[i]->added = true;
		d->added++;
		kpl_step(d->probes[i]);
	}
}

static void kpl_direct_group(struct kpl_probe **prs, u32 nr, bool stack)
{
	u32 i, wanted = 0;

	for (i = 0; i < nr; i++)
		wanted += kpl_is_for_stub(prs[i], stack);
	if (wanted > KPL_DIRECT_EACH) {
		kpl_direct_make(prs, nr, stack, true);
		return;
	}
	for (i = 0; i < nr; i++)
		if (kpl_is_for_stub(prs[i], stack))
			kpl_direct_make(&prs[i], 1, stack, false);
}

static void kpl_direct_add(struct kpl_probe **prs, u32 nr)
{
	kpl_direct_sort(prs, nr);
	mutex_lock(&kpl_directs_lock);
	kpl_direct_group(prs, nr, false);
	kpl_direct_group(prs, nr, true);
	mutex_unlock(&kpl_directs_lock);
}

/* A group whose stub was given back: nothing leads to its functions any more. */
static void kpl_direct_drop_all(struct kpl_direct *d)
{
	u32 i;

	d->refs++;
	for (i = 0; i < d->nr; i++) {
		struct kpl_probe *pr = d->probes[i];

		if (!pr)
			continue;
		kpl_direct_drop(pr);
		kpl_held_back(pr);
	}
	kpl_direct_free(d);
}

/*
 * Afterwards no handler of what was given back runs, nor will: for calls under
 * way, the stub does nothing any more.
 */
static void kpl_directs_end(struct list_head *ended)
{
	struct kpl_direct *d, *next;

	if (list_empty(ended))
		return;
	kpl_hits_drain();
	list_for_each_entry_safe(d, next, ended, list) {
		kpl_stubs_used->give(d->stub);
		d->stub = NULL;
		kpl_direct_drop_all(d);
	}
}

/* Puts a group that has no probes any more to those whose stub is to be given back. */
static void kpl_direct_end(struct kpl_direct *d, struct list_head *ended)
{
	const struct kpl_direct_set *set;

	if (d->added || !d->stub)
		return;
	list_for_each_entry(set, &d->sets, list)
		if (set->registered)
			return;
	kpl_stubs_used->end(d->stub);
	list_move(&d->list, ended);
}

/* Why ftrace's or our own refusal leaves a probe to the kretprobes; KPL_WHY_NONE: it does not. */
static enum kpl_why kpl_refused_why(int err)
{
	switch (err) {
	case -EBUSY:
		return KPL_WHY_BUSY;
	case -EOPNOTSUPP:
		return KPL_WHY_FTRACE;
	case -ENOSPC:
		return KPL_WHY_SPENT;
	}
	return KPL_WHY_NONE;
}

/* Those that are to be kretprobes, first in the list; how many. */
static u32 kpl_directs_busy(struct kpl_probe **prs, u32 nr)
{
	LIST_HEAD(ended);
	u32 i, busy = 0;

	for (i = 0; i < nr; i++) {
		enum kpl_why why = kpl_refused_why(prs[i]->error);
		struct kpl_direct *d = prs[i]->direct;

		if (!why)
			continue;
		if (kpl_interrupted(prs[i])) {
			prs[i]->error = -EINTR;
			continue;
		}
		kpl_direct_leave(prs[i], why);
		if (prs[i]->error)
			continue;	/* it stays, off: another time it may do */
		prs[i]->added = false;
		d->added--;
		kpl_direct_drop(prs[i]);
		kpl_direct_end(d, &ended);
		swap(prs[i], prs[busy]);
		busy++;
	}
	kpl_directs_end(&ended);
	return busy;
}

static void kpl_direct_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i, busy;

	mutex_lock(&kpl_directs_lock);
	for (i = 0; i < nr; i++) {
		prs[i]->error = prs[i]->gone ? -ENOENT : 0;
		if (!prs[i]->gone)
			kpl_direct_switch(prs[i], true);
	}
	kpl_directs_update(prs, nr);
	busy = kpl_directs_busy(prs, nr);
	mutex_unlock(&kpl_directs_lock);
	for (i = busy; i < nr; i++)
		kpl_step(prs[i]);
	/* They are armed with the other kretprobes, whose turn is next. */
	if (busy)
		kpl_kretprobe_add_left(prs, busy);
}

static void kpl_direct_disarm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	mutex_lock(&kpl_directs_lock);
	for (i = 0; i < nr; i++) {
		prs[i]->error = 0;
		kpl_direct_switch(prs[i], false);
	}
	kpl_directs_update(prs, nr);
	mutex_unlock(&kpl_directs_lock);
}

static void kpl_direct_remove(struct kpl_probe **prs, u32 nr)
{
	LIST_HEAD(ended);
	u32 i;

	mutex_lock(&kpl_directs_lock);
	for (i = 0; i < nr; i++) {
		kpl_direct_switch(prs[i], false);
		WRITE_ONCE(prs[i]->added, false);
		prs[i]->direct->added--;
	}
	kpl_directs_update(prs, nr);
	for (i = 0; i < nr; i++)
		kpl_direct_end(prs[i]->direct, &ended);
	kpl_directs_end(&ended);
	mutex_unlock(&kpl_directs_lock);
}

static u64 kpl_direct_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return KPL_TABLE_SLOTS * sizeof(struct kpl_table_slot) + sizeof(struct kpl_probe *) +
	       sizeof(unsigned long) + sizeof(struct kpl_direct_set) + sizeof(struct xa_node);
}

static enum kpl_probe_state kpl_direct_state(struct kpl_probe *pr)
{
	if (pr->gone)
		return KPL_STATE_GONE;
	return pr->armed ? KPL_STATE_DIRECT : KPL_STATE_DISABLED;
}

/* ---------------------------------------------------------- modules' code that goes */

/*
 * The filter of a registered set can't be changed: what was removed from it since
 * is still in it.
 */
static bool kpl_set_forget(struct kpl_direct *d, struct kpl_direct_set *set,
			   const struct module *mod, bool init_alone)
{
	bool some = false;
	u32 i;

	for (i = set->from; i < set->to; i++) {
		struct kpl_probe *pr = d->probes[i];

		if (!pr || pr->gone || !(pr->added || set->registered))
			continue;
		if (!kpl_goes_with(mod, pr->site, init_alone))
			continue;
		pr->gone = true;
		kpl_direct_switch(pr, false);
		some = true;
	}
	if (some)
		d->changed = true;	/* others of the set go on, if these were off already */
	return some;
}

/* A module that has come up frees its start-up code next. */
static int kpl_direct_module(struct notifier_block *nb, unsigned long state, void *mod)
{
	struct kpl_direct_set *set;
	struct kpl_direct *d;
	u32 failed = 0;

	if (state != MODULE_STATE_GOING && state != MODULE_STATE_LIVE)
		return NOTIFY_DONE;
	mutex_lock(&kpl_directs_lock);
	list_for_each_entry(d, &kpl_directs, list) {
		list_for_each_entry(set, &d->sets, list)
			if (kpl_set_forget(d, set, mod, state == MODULE_STATE_LIVE))
				kpl_set_off(d, set);
		if (d->changed)
			failed += kpl_direct_update(d);
	}
	mutex_unlock(&kpl_directs_lock);
	if (failed)
		pr_warn("kprobe_lua: %u return probes in modules are off\n", failed);
	return NOTIFY_DONE;
}

static struct notifier_block kpl_direct_modules = {
	.notifier_call = kpl_direct_module,
	.priority = KPL_MODULES_FIRST,
};

int kpl_direct_init(void)
{
	return register_module_notifier(&kpl_direct_modules);
}

void kpl_direct_exit(void)
{
	unregister_module_notifier(&kpl_direct_modules);
	if (!kpl_stubs_used)
		return;
	kpl_stubs_used->leave();
	symbol_put(kpl_stubs);
}

const struct kpl_probe_ops kpl_direct_ops = {
	.kind = KPL_PROBE_DIRECT,
	.changes = true,
	.rules = { KPL_ATTACH_F_ELSE_KPROBE, KPL_MAX_ACTIVE, KPL_TAKES_STACK_ARGS },
	.memory = kpl_direct_memory,
	.kinds = { KPL_PROG_ENTRY, KPL_PROG_RET, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_direct_add,
	.run[KPL_OP_ARM] = kpl_direct_arm,
	.run[KPL_OP_DISARM] = kpl_direct_disarm,
	.run[KPL_OP_REMOVE] = kpl_direct_remove,
	.free = kpl_direct_free_probe,
	.state = kpl_direct_state,
	.stats = kpl_kretprobe_stats,
};

#else

u64 kpl_direct_feature(void)
{
	return 0;
}

int kpl_direct_init(void)
{
	return 0;
}

void kpl_direct_exit(void)
{
}

static void kpl_direct_refuse(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		kpl_direct_leave(prs[i], READ_ONCE(kpl_direct) ? KPL_WHY_KERNEL : KPL_WHY_OFF);
}

/* None is ever added: nothing else is called. */
const struct kpl_probe_ops kpl_direct_ops = {
	.kind = KPL_PROBE_DIRECT,
	.changes = true,
	.rules = { KPL_ATTACH_F_ELSE_KPROBE, KPL_MAX_ACTIVE, KPL_TAKES_STACK_ARGS },
	.kinds = { KPL_PROG_ENTRY, KPL_PROG_RET, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_direct_refuse,
};

#endif
