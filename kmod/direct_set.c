// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * As with ftrace.c's, an ftrace_ops is used once, its filter is never empty,
 * and what is there has a lock of its own.
 */
#include <linux/kmod.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "direct_set.h"
#include "place.h"
#include "refused.h"
#include "session.h"
#include "sites.h"

#ifdef KPL_DIRECT_CALLS

/*
 * Each is a grace period at its end; and at a function that others trace, too,
 * the kernel asks all ftrace_ops that there are.
 */
#define KPL_MAX_SETS	64

DEFINE_MUTEX(kpl_directs_lock);
LIST_HEAD(kpl_directs);
u32 kpl_directs_nr;
static u32 kpl_sets_nr;			/* registered */
static DEFINE_XARRAY(kpl_called);	/* by kpl_called_at() */
const struct kpl_stubs *kpl_stubs_used;

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
bool kpl_stubs_there(void)
{
	static DEFINE_MUTEX(lock);
	static bool asked;
	bool there = kpl_stubs_taken();

	if (there)
		return true;
	if (mutex_lock_killable(&lock))
		return false;
	/* An error: it could not be asked for, as while the machine falls asleep. */
	if (!asked)
		asked = request_module("kprobe_lua_stubs") >= 0;
	mutex_unlock(&lock);
	return kpl_stubs_taken();
}

/* -------------------------------------------------------------------- memory */

void kpl_direct_free(struct kpl_direct *d)
{
	struct kpl_direct_set *set, *next;

	list_for_each_entry_safe(set, next, &d->sets, list)
		kfree(set);
	list_del(&d->list);
	kvfree(d->table.slots);
	kvfree(d->sites);
	kvfree(d);
}

struct kpl_direct_set *kpl_set_alloc(struct list_head *behind, u32 from, u32 to)
{
	struct kpl_direct_set *set = kzalloc(sizeof(*set), KPL_GFP_SHARED);

	if (!set)
		return NULL;
	set->from = from;
	set->to = to;
	list_add(&set->list, behind);
	return set;
}

struct kpl_direct *kpl_direct_alloc(u32 nr, bool of_many)
{
	struct kpl_direct *d = kvzalloc(struct_size(d, probes, nr), KPL_GFP_SHARED);

	if (!d)
		return NULL;
	INIT_LIST_HEAD(&d->sets);
	list_add(&d->list, &kpl_directs);
	d->of_many = of_many;
	d->sites = kvcalloc(nr, sizeof(*d->sites), KPL_GFP_SHARED);
	if (!d->sites || (of_many && kpl_table_alloc(&d->table, nr))) {
		kpl_direct_free(d);
		return NULL;
	}
	return d;
}

void kpl_direct_drop(struct kpl_probe *pr)
{
	struct kpl_direct *d = pr->direct;

	pr->direct = NULL;
	kpl_directs_nr--;
	d->probes[pr->direct_at] = NULL;
	/* What could not be taken back must stay. */
	if (!--d->refs && !d->stub)
		kpl_direct_free(d);
}

/* ------------------------------------------------------------ what is called through */

void kpl_direct_switch(struct kpl_probe *pr, bool armed)
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

/* The half of a site that tells the kernel's text apart, and no more than tells functions apart. */
static unsigned long kpl_called_at(unsigned long site)
{
	return (u32)site / 16;
}

/* What is not noted, for want of memory, ftrace refuses all the same. */
static void kpl_set_noted_on(struct kpl_direct_set *set, const unsigned long *sites, u32 nr)
{
	u32 i;

	kpl_sets_nr++;
	for (i = 0; i < nr; i++)
		xa_store(&kpl_called, kpl_called_at(sites[i]), set, KPL_GFP_SHARED);
}

static void kpl_set_noted_off(const struct kpl_direct_set *set)
{
	const struct kpl_direct_set *other;
	unsigned long at;

	kpl_sets_nr--;
	xa_for_each(&kpl_called, at, other)
		if (other == set)
			xa_erase(&kpl_called, at);
}

int kpl_set_off(struct kpl_direct *d, struct kpl_direct_set *set)
{
	int err;

	if (!set->registered)
		return 0;
	err = kpl_ftrace_is_dead() ? -ENODEV : kpl_direct_off(&set->ops, d->text);
	if (!err && kpl_ftrace_is_dead())
		err = -ENODEV;
	if (err) {
		/* Its text may still call the stub, alone. */
		d->text = kpl_stubs_used->aim(d->stub, d->behind, NULL, NULL);
		pr_err("kprobe_lua: can't take direct calls back (%d), staying\n", err);
		__module_get(THIS_MODULE);
		return err;
	}
	set->registered = false;
	kpl_set_noted_off(set);
	kpl_refused_release(KPL_REFUSED_FUNCTIONS);
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

	if (kpl_sets_nr >= KPL_MAX_SETS)
		return -ENOSPC;
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
	kpl_set_noted_on(set, d->sites, nr);
	kpl_refused_hold(KPL_REFUSED_FUNCTIONS);
	/* The sysctl that would switch it off silently is refused; before, 6.1 takes no flags. */
	set->ops.flags |= FTRACE_OPS_FL_PERMANENT;
	/* One that is under way ends, and its code is what it leaves: ftrace's lock is taken. */
	kpl_sites_known(d->sites, 1);
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

/* Puts those last whose functions others of ours are registered for; where they begin. */
static u32 kpl_set_sort(struct kpl_direct *d, struct kpl_direct_set *set)
{
	u32 i, at = set->from;

	for (i = set->from; i < set->to; i++) {
		struct kpl_probe *pr = d->probes[i];

		if (pr && xa_load(&kpl_called, kpl_called_at(pr->site)))
			continue;
		swap(d->probes[i], d->probes[at]);
		if (d->probes[i])
			d->probes[i]->direct_at = i;
		if (pr)
			pr->direct_at = at;
		at++;
	}
	return at;
}

/*
 * Of a set that has a function which is called directly already, ftrace takes
 * none and does not say which.  What is ours is known, and is a set of its own;
 * others' are found by halves, each of which stays a set.  False: it is refused.
 */
static bool kpl_set_divide(struct kpl_direct *d, struct kpl_direct_set *set)
{
	u32 at = kpl_set_sort(d, set);

	if (at == set->to)
		at = set->from + (set->to - set->from) / 2;
	if (at == set->from || !kpl_set_alloc(&set->list, at, set->to))
		return false;
	set->to = at;
	return true;
}

u32 kpl_direct_update(struct kpl_direct *d)
{
	struct kpl_direct_set *set;
	u32 failed = 0;

	/* Sets that are made on the way stand behind the one they are made of. */
	list_for_each_entry(set, &d->sets, list) {
		while (kpl_set_wanted(d, set) && !set->registered) {
			int err = kpl_set_on(d, set);

			if (err && (err != -EBUSY || !kpl_set_divide(d, set)))
				failed += kpl_set_fail(d, set, err);
		}
		if (!kpl_set_wanted(d, set))
			kpl_set_off(d, set);
		cond_resched_tasks_rcu_qs();	/* the kernel frees what each has had it copy */
	}
	d->changed = false;
	return failed;
}

void kpl_directs_update(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (prs[i]->direct->changed)
			kpl_direct_update(prs[i]->direct);
}

#endif
