// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Return probes by direct calls: ftrace's site at a function's entry calls a
 * stub (stubs.h), which calls the function.  Process context.
 *
 * What can't go that way becomes a kretprobe: before it is added, or when it is
 * to be armed and somebody else has the function.  Of one function there is
 * one direct call in the whole kernel.
 *
 * As with ftrace.c's, an ftrace_ops is used once, its filter is never empty,
 * and what is there has a lock of its own.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "call.h"
#include "change.h"
#include "compat.h"
#include "direct.h"
#include "kprobe.h"
#include "place.h"
#include "kretprobe.h"
#include "refused.h"
#include "session.h"
#include "sites.h"
#include "stubs.h"
#include "table.h"

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

/* Under the lock: those that are in groups. */
static u32 kpl_direct_nr;

/*
 * So many functions of one attach call get a stub each.  More share one: their
 * calls take longer, but each stub of its own is a grace period at the end.
 */
#define KPL_DIRECT_EACH	2

/* Functions that one ftrace_ops is for: of the group's probes, those from `from` to `to`. */
struct kpl_direct_set {
	struct list_head list;
	struct ftrace_ops ops;
	u32 from, to;
	bool registered;
};

/* A stub, and the probes whose functions are called through it. */
struct kpl_direct {
	struct list_head list;		/* of all */
	struct list_head sets;
	struct kpl_table table;		/* of a stub of many: by where their functions go on */
	struct kpl_stub *stub;		/* NULL: given back */
	unsigned long text, behind;	/* what the stub is, and what it calls: 0: the site tells */
	unsigned long *sites;		/* room for a filter */
	u32 nr, refs, added;		/* probes; not freed; added */
	bool changed;			/* by the operation under way */
	bool of_many;
	struct kpl_probe *probes[];	/* NULL: freed, or left */
};

/* Nothing under it waits for user space, nor for a module that comes or goes. */
static DEFINE_MUTEX(kpl_directs_lock);
static LIST_HEAD(kpl_directs);

/* The stubs' module; NULL: not there yet.  Ours until we go. */
static const struct kpl_stubs *kpl_stubs_used;

u64 kpl_direct_feature(void)
{
	return KPL_FEATURE_DIRECT;
}

static bool kpl_stubs_take(void)
{
	const struct kpl_stubs *stubs;

	if (kpl_stubs_used)
		return true;
	stubs = symbol_get(kpl_stubs);
	if (stubs && stubs->abi != KPL_STUBS_ABI) {
		symbol_put(kpl_stubs);
		return false;
	}
	kpl_stubs_used = stubs;
	return stubs;
}

static bool kpl_stubs_taken(void)
{
	bool there;

	mutex_lock(&kpl_directs_lock);
	there = kpl_stubs_take();
	mutex_unlock(&kpl_directs_lock);
	return there;
}

/*
 * Asks for it once: where it is not installed, that costs a process each time.
 * Others wait for the answer.
 */
static bool kpl_stubs_there(void)
{
	static DEFINE_MUTEX(lock);
	static bool asked;
	bool there = kpl_stubs_taken();

	if (there)
		return true;
	mutex_lock(&lock);
	if (!asked)
		request_module("kprobe_lua_stubs");
	asked = true;
	mutex_unlock(&lock);
	return kpl_stubs_taken();
}

/* -------------------------------------------------------------------- memory */

static void kpl_direct_free(struct kpl_direct *d)
{
	struct kpl_direct_set *set, *next;

	list_for_each_entry_safe(set, next, &d->sets, list)
		kfree(set);
	list_del(&d->list);
	kvfree(d->table.slots);
	kvfree(d->sites);
	kvfree(d);
}

static struct kpl_direct_set *kpl_set_alloc(struct list_head *behind, u32 from, u32 to)
{
	struct kpl_direct_set *set = kzalloc(sizeof(*set), KPL_GFP);

	if (!set)
		return NULL;
	set->from = from;
	set->to = to;
	list_add(&set->list, behind);
	return set;
}

static struct kpl_direct *kpl_direct_alloc(u32 nr, bool of_many)
{
	struct kpl_direct *d = kvzalloc(struct_size(d, probes, nr), KPL_GFP);

	if (!d)
		return NULL;
	INIT_LIST_HEAD(&d->sets);
	list_add(&d->list, &kpl_directs);
	d->of_many = of_many;
	d->sites = kvcalloc(nr, sizeof(*d->sites), KPL_GFP);
	if (!d->sites || (of_many && kpl_table_alloc(&d->table, nr))) {
		kpl_direct_free(d);
		return NULL;
	}
	return d;
}

/* Takes a probe out; it is added no more. */
static void kpl_direct_drop(struct kpl_probe *pr)
{
	struct kpl_direct *d = pr->direct;

	pr->direct = NULL;
	kpl_direct_nr--;
	d->probes[pr->direct_at] = NULL;
	/* What could not be taken back must stay. */
	if (!--d->refs && !d->stub)
		kpl_direct_free(d);
}

static void kpl_direct_free_probe(struct kpl_probe *pr)
{
	if (!pr->direct)
		return;
	mutex_lock(&kpl_directs_lock);
	kpl_direct_drop(pr);
	mutex_unlock(&kpl_directs_lock);
}

/* ------------------------------------------------------------ what is called through */

/* A call that is under way when its probe goes off returns to its handler all the same. */
static void kpl_direct_switch(struct kpl_probe *pr, bool armed)
{
	struct kpl_direct *d = pr->direct;

	if (pr->armed == armed)
		return;
	pr->armed = armed;
	d->changed = true;
	if (d->of_many)
		WRITE_ONCE(kpl_table_slot(&d->table, kpl_behind_site(pr->site))->pr,
			   armed ? pr : NULL);
}

static int kpl_set_off(struct kpl_direct *d, struct kpl_direct_set *set)
{
	int err;

	if (!set->registered)
		return 0;
	err = kpl_direct_off(&set->ops, d->text);
	if (err) {
		/* ftrace has shut itself down; its text may still call the stub, alone. */
		d->text = kpl_stubs_used->aim(d->stub, d->behind, NULL, NULL);
		pr_err("kprobe_lua: can't take direct calls back (%d), staying\n", err);
		__module_get(THIS_MODULE);
		return err;
	}
	set->registered = false;
	kpl_refused_release();
	return 0;
}

/* With kernel.ftrace_enabled=0, nothing is called, nor is an error returned. */
static bool kpl_site_calls(unsigned long site)
{
	u8 opcode;

	return !copy_from_kernel_nofault(&opcode, (void *)site, 1) && opcode != 0x0f;
}

static int kpl_set_register(struct kpl_direct *d, struct kpl_direct_set *set, u32 nr)
{
	int err;

	memset(&set->ops, 0, sizeof(set->ops));
	err = ftrace_set_filter_ips(&set->ops, d->sites, nr, 0, 1);
	if (!err)
		err = kpl_direct_on(&set->ops, d->text);
	if (err) {
		/* It has stood in ftrace's list for a moment, and may have been called through. */
		if (set->ops.flags & FTRACE_OPS_FL_DIRECT)
			kpl_ftrace_settle();
		ftrace_free_filter(&set->ops);
		return err;
	}
	set->registered = true;
	kpl_refused_hold();
	/* The sysctl that would switch it off silently is refused; before, 6.1 takes no flags. */
	set->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	if (kpl_site_calls(d->sites[0]))
		return 0;
	return kpl_set_off(d, set) ?: -EOPNOTSUPP;
}

/* All that are added: the filter of what is registered can't be changed. */
static int kpl_set_on(struct kpl_direct *d, struct kpl_direct_set *set)
{
	u32 i, nr = 0;

	for (i = set->from; i < set->to; i++)
		if (d->probes[i] && d->probes[i]->added && !d->probes[i]->gone)
			d->sites[nr++] = d->probes[i]->site;
	return nr ? kpl_set_register(d, set, nr) : 0;
}

static bool kpl_set_wanted(const struct kpl_direct *d, const struct kpl_direct_set *set)
{
	u32 i;

	for (i = set->from; i < set->to; i++)
		if (d->probes[i] && d->probes[i]->armed)
			return true;
	return false;
}

/* None of the set's can be armed; how many would be. */
static u32 kpl_set_fail(struct kpl_direct *d, struct kpl_direct_set *set, int err)
{
	u32 i, nr = 0;

	for (i = set->from; i < set->to; i++) {
		if (!d->probes[i] || !d->probes[i]->armed)
			continue;
		d->probes[i]->error = err;
		kpl_direct_switch(d->probes[i], false);
		nr++;
	}
	return nr;
}

/*
 * Registers and unregisters what the probes want.  Of a set that has a function
 * which is called directly already, ftrace takes none and does not say which:
 * it is tried by halves, each of which stays a set of its own.  Returns how many
 * are not armed.
 */
static u32 kpl_direct_update(struct kpl_direct *d)
{
	struct kpl_direct_set *set;
	u32 failed = 0;

	/* Sets that are made on the way stand behind the one they are made of. */
	list_for_each_entry(set, &d->sets, list) {
		while (kpl_set_wanted(d, set) && !set->registered) {
			u32 half = set->from + (set->to - set->from) / 2;
			int err = kpl_set_on(d, set);

			if (err == -EBUSY && half > set->from &&
			    kpl_set_alloc(&set->list, half, set->to))
				set->to = half;
			else if (err)
				failed += kpl_set_fail(d, set, err);
		}
		if (!kpl_set_wanted(d, set))
			kpl_set_off(d, set);
		cond_resched();
	}
	d->changed = false;
	return failed;
}

/* After `armed` was set in some probes. */
static void kpl_directs_update(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (prs[i]->direct->changed)
			kpl_direct_update(prs[i]->direct);
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
 * it reads others, and may write where they point to.
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
	kpl_direct_nr++;
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
			else if (kpl_direct_nr >= READ_ONCE(kpl_direct_max))
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
		list_move(&d->list, &kpl_directs);
		if (!d->refs)
			kpl_direct_free(d);
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

/* Those that are to be kretprobes, first in the list; how many. */
static u32 kpl_directs_busy(struct kpl_probe **prs, u32 nr)
{
	LIST_HEAD(ended);
	u32 i, busy = 0;

	for (i = 0; i < nr; i++) {
		struct kpl_direct *d = prs[i]->direct;

		if (prs[i]->error != -EBUSY && prs[i]->error != -EOPNOTSUPP)
			continue;
		prs[i]->added = false;
		d->added--;
		kpl_direct_drop(prs[i]);
		kpl_direct_end(d, &ended);
		kpl_direct_leave(prs[i], prs[i]->error == -EBUSY ? KPL_WHY_BUSY : KPL_WHY_FTRACE);
		if (prs[i]->error)
			continue;
		swap(prs[i], prs[busy]);
		busy++;
	}
	kpl_directs_end(&ended);
	return busy;
}

static void kpl_direct_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i, busy, added = 0;

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
	if (!busy)
		return;
	kpl_kretprobe_ops.run[KPL_OP_ADD](prs, busy);
	for (i = 0; i < busy; i++)
		if (prs[i]->added)
			swap(prs[i], prs[added++]);
	kpl_kretprobe_ops.run[KPL_OP_ARM](prs, added);
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
	       sizeof(unsigned long);
}

static enum kpl_probe_state kpl_direct_state(struct kpl_probe *pr)
{
	if (pr->gone)
		return KPL_STATE_GONE;
	return pr->armed ? KPL_STATE_DIRECT : KPL_STATE_DISABLED;
}

/* ---------------------------------------------------------- modules' code that goes */

static bool kpl_set_forget(struct kpl_direct *d, struct kpl_direct_set *set,
			   const struct module *mod, bool init_alone)
{
	bool some = false;
	u32 i;

	for (i = set->from; i < set->to; i++) {
		struct kpl_probe *pr = d->probes[i];

		if (!pr || !pr->added || pr->gone)
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
	.flags = KPL_ATTACH_F_ELSE_KPROBE,
	.maxactive = KPL_MAX_ACTIVE,
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
	.flags = KPL_ATTACH_F_ELSE_KPROBE,
	.maxactive = KPL_MAX_ACTIVE,
	.kinds = { KPL_PROG_ENTRY, KPL_PROG_RET, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_direct_refuse,
};

#endif
