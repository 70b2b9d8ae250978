// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Probes on any instruction, by the kernel's kprobes.  Process context. */
#include <linux/module.h>
#include <linux/uaccess.h>

#include "common.h"
#include "compat.h"
#include "going.h"
#include "hit.h"
#include "jumps.h"
#include "kprobe.h"
#include "place.h"
#include "stats.h"

/*
 * Whether a post handler may be registered there; < 0: not known.  Not at an
 * ftrace site: kprobes have two ftrace_ops, one of them for places with a post
 * handler, and disarm by the one that serves the place now.  A post handler
 * that joins armed kprobes changes that one: the kernel fails to disarm them,
 * and calls them after they were freed.
 */
static int kpl_takes_post(const struct kpl_probe *pr)
{
#ifdef CONFIG_KPROBES_ON_FTRACE
	unsigned long site = pr->origin.addr;
	int err = kpl_sites_known(&site, 1);

	return err == -EINVAL ? 1 : err;
#else
	return 1;
#endif
}

static int kpl_kprobe_register(struct kpl_probe *pr, kprobe_post_handler_t post)
{
	struct kprobe *kp = &pr->rp.kp;
	int err;

	kp->addr = (kprobe_opcode_t *)pr->origin.addr;
	kp->flags = KPROBE_FLAG_DISABLED;
	kp->pre_handler = pr->hook;
	kp->post_handler = post;
	err = register_kprobe(kp);
	if (err)
		return err;
	err = kpl_check_registered(kp);
	if (!err && post == kpl_hit_post && kpl_is_boosted(kp))
		err = -EADDRINUSE;
	if (err)
		kpl_kprobe_unregister(kp);
	return err;
}

static int kpl_kprobe_add_one(struct kpl_probe *pr)
{
	u32 moved = pr->handler[KPL_SIDE_FIRST].prog ? pr->handler[KPL_SIDE_FIRST].prog->moved : 0;
	int err = kpl_check_place(pr->origin.addr, false), takes_post = 1;
	struct kprobe *kp = &pr->rp.kp;
	kprobe_post_handler_t post = NULL;

	if (err)
		return err;
	/* A handler that does nothing would still cost, and a post handler forbids optimization. */
	if (pr->handler[KPL_SIDE_FIRST].run)
		pr->hook = pr->when.mask ? kpl_hit_pre_when : kpl_hit_pre;
	if (moved)
		pr->hook = kpl_hit_pre_move;
	if (pr->handler[KPL_SIDE_SECOND].run || moved) {
		takes_post = kpl_takes_post(pr);
		if (takes_post < 0)
			return takes_post;
		if (takes_post)
			post = pr->handler[KPL_SIDE_SECOND].run ? kpl_hit_post :
								  kpl_hit_post_nothing;
	}
	if (!post && !kpl_may_optimize(pr->origin.addr))
		post = kpl_hit_post_nothing;
	/* ftrace would not know of it, and let others call the function directly. */
	if (!takes_post && moved)
		return -EOPNOTSUPP;
#ifdef CONFIG_KPROBES_ON_FTRACE
	if (!takes_post && pr->handler[KPL_SIDE_SECOND].run)
		pr->hook = kpl_hit_around;
#endif
	err = kpl_kprobe_register(pr, post);
	/* The other one may be on its way out: what is left of it goes with ours. */
	if (err == -EADDRINUSE)
		err = kpl_kprobe_register(pr, post);
	if (err)
		return err;
	if (!(moved & KPL_MOVE_OVERRIDE) || kpl_is_function_entry(kp))
		return 0;
	/* What is on the stack there is not the way back. */
	kpl_kprobe_unregister(kp);
	return -EDOM;
}

static int kpl_kprobe_try(struct kpl_probe *pr)
{
	return kpl_interrupted(pr) ? -EINTR : kpl_kprobe_add_one(pr);
}

static void kpl_kprobe_add(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_kprobe_try);
}

/* The kernel counts them for each of a place, armed or not.  Of one that is armed: since then. */
static u64 kpl_missed_now(const struct kpl_probe *pr)
{
	return READ_ONCE(pr->rp.kp.nmissed) - pr->missed_off;
}

u64 kpl_kprobe_missed(const struct kpl_probe *pr)
{
	return pr->missed + (pr->armed ? kpl_missed_now(pr) : 0);
}

/*
 * False: the kernel can't disarm it, since somebody's post handler has come to
 * the same ftrace site (see above).  Then it calls a hook that does nothing,
 * and our memory and code stay for good.
 */
static bool kpl_kprobe_off(struct kpl_probe *pr)
{
	struct kprobe *kp = &pr->rp.kp;
	int err = pr->stuck ? 0 : disable_kprobe(kp);

	if (err) {
		pr->stuck = true;
		__module_get(THIS_MODULE);
		pr_err("kprobe_lua: the kernel can't disarm the kprobe at %pS (%d), staying\n",
		       kp->addr, err);
	}
	if (pr->stuck)
		WRITE_ONCE(kp->pre_handler, kpl_hit_nothing);
	if (pr->armed)
		pr->missed += kpl_missed_now(pr);
	pr->armed = false;
	return !pr->stuck;
}

static int kpl_kprobe_on(struct kpl_probe *pr)
{
	int err = 0;

	if (!pr->armed)
		pr->missed_off = READ_ONCE(pr->rp.kp.nmissed);
	if (!pr->stuck)
		err = enable_kprobe(&pr->rp.kp);
	else
		WRITE_ONCE(pr->rp.kp.pre_handler, pr->hook);
	/*
	 * While all kprobes are switched off, the kernel enables none, and says that it has: it
	 * would stay off when they are on again.  Not all kernels tell of the switch; what stands
	 * for all kprobes of the place does.
	 */
	if (!err && !pr->stuck && kpl_place_is(&pr->rp.kp, false)) {
		disable_kprobe(&pr->rp.kp);
		err = -ENODEV;
	}
	if (!err)
		pr->armed = true;
	return err;
}

void kpl_kprobe_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = kpl_interrupted(prs[i]) ? -EINTR : kpl_kprobe_on(prs[i]);
		kpl_step(prs[i]);
		cond_resched_tasks_rcu_qs();
	}
}

static u64 kpl_kprobe_handled(const struct kpl_probe *pr)
{
	return kpl_counter_read(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED) +
	       kpl_counter_read(&pr->origin, KPL_SIDE_SECOND, KPL_C_HANDLED);
}

/*
 * Those with more hits than the average go first: to disarm one takes ftrace through
 * all functions that it knows, and what it calls for each may be probed.
 */
static void kpl_busiest_off(struct kpl_probe **prs, u32 nr)
{
	u64 sum = 0, average;
	u32 i;

	for (i = 0; i < nr; i++) {
		sum += kpl_kprobe_handled(prs[i]);
		cond_resched_tasks_rcu_qs();
	}
	average = nr ? div_u64(sum, nr) : 0;
	for (i = 0; i < nr; i++) {
		if (kpl_kprobe_handled(prs[i]) > average)
			kpl_kprobe_off(prs[i]);
		cond_resched_tasks_rcu_qs();
	}
}

void kpl_kprobe_disarm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	kpl_busiest_off(prs, nr);
	for (i = 0; i < nr; i++) {
		kpl_kprobe_off(prs[i]);
		prs[i]->error = 0;
		cond_resched_tasks_rcu_qs();
	}
}

/* Disarms them for good; how many, then the first ones, the kernel may unregister. */
u32 kpl_kprobes_off(struct kpl_probe **prs, u32 nr)
{
	u32 i, off = 0;

	for (i = 0; i < nr; i++) {
		prs[i]->added = false;
		if (!prs[i]->stuck)
			kpl_kprobe_pass_on(&prs[i]->rp.kp);
		cond_resched_tasks_rcu_qs();
	}
	kpl_busiest_off(prs, nr);
	for (i = 0; i < nr; i++) {
		if (kpl_kprobe_off(prs[i])) {
			swap(prs[i], prs[off]);
			off++;	/* a macro: it would count twice there */
		}
		cond_resched_tasks_rcu_qs();
	}
	return off;
}

#define KPL_KPROBES_AT_ONCE	2048	/* each time is a grace period */

/*
 * Whether tasks may be preempted in what its jump led to, when it shows none any more because
 * another probe came to its place: the kernel waits for these only as it takes a jump back by
 * itself.
 */
static bool kpl_any_had_jump(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		struct kprobe *kp = &prs[i]->rp.kp;

		if (IS_ENABLED(CONFIG_OPTPROBES) && !kprobe_ftrace(kp) && !list_empty(&kp->list) &&
		    !kpl_shows_jump(kp))
			return true;
	}
	return false;
}

/*
 * They are disarmed.  The kernel takes them apart at once and waits afterwards: who returns from
 * the function of a kretprobe then frees the instance by call_rcu(), in whatever context that is,
 * and while another CPU may be about to take it.  So nobody is in a hit by then, nor out in a
 * function whose callers have interrupts off.
 */
static void kpl_kprobes_leave(struct kpl_probe **prs, u32 nr)
{
	if (!nr)
		return;
	kpl_hits_drain();
	if (kpl_any_had_jump(prs, nr))
		synchronize_rcu_tasks();
}

/*
 * The kernel looks for each of them from the newest on, with all kprobes locked:
 * these are in the order in which they were made.  A probe begins with its
 * kprobe or kretprobe: no other list is needed.
 */
void kpl_kprobes_unregister(struct kpl_probe **prs, u32 nr, bool returns)
{
	u32 i, some;

	kpl_kprobes_leave(prs, nr);
	for (i = 0; i < nr / 2; i++)
		swap(prs[i], prs[nr - 1 - i]);
	for (; nr; nr -= some, prs += some) {
		some = min_t(u32, nr, KPL_KPROBES_AT_ONCE);
		if (returns)
			unregister_kretprobes((struct kretprobe **)prs, some);
		else
			unregister_kprobes((struct kprobe **)prs, some);
		cond_resched_tasks_rcu_qs();
	}
}

static void kpl_kprobe_remove(struct kpl_probe **prs, u32 nr)
{
	kpl_kprobes_unregister(prs, kpl_kprobes_off(prs, nr), false);
}

static enum kpl_probe_state kpl_armed_state(const struct kprobe *kp)
{
	return kpl_shows_jump(kp) ? KPL_STATE_OPTIMIZED : KPL_STATE_INT3;
}

enum kpl_probe_state kpl_kprobe_state(struct kpl_probe *pr)
{
	struct kprobe *kp = &pr->rp.kp;

	if (kprobe_gone(kp))
		return KPL_STATE_GONE;
	if (kprobe_disabled(kp) || kp->pre_handler == kpl_hit_nothing)
		return KPL_STATE_DISABLED;
	return kprobe_ftrace(kp) ? KPL_STATE_FTRACE : kpl_armed_state(kp);
}

/* Each handler is missed when the kernel finds the CPU in another kprobe. */
static void kpl_kprobe_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	u64 nmissed = kpl_kprobe_missed(pr);

	kpl_counts_read(&pr->origin, KPL_SIDE_FIRST, &out->entry);
	kpl_counts_read(&pr->origin, KPL_SIDE_SECOND, &out->ret);
	out->moved = kpl_counter_read(&pr->origin, KPL_SIDE_FIRST, KPL_C_MOVED);
	if (pr->handler[KPL_SIDE_FIRST].run)
		kpl_counts_miss(&out->entry, nmissed);
	if (pr->handler[KPL_SIDE_SECOND].run)
		kpl_counts_miss(&out->ret, nmissed);
}

const struct kpl_probe_ops kpl_kprobe_ops = {
	.kind = KPL_PROBE_KPROBE,
	.changes = true,
	.kinds = { KPL_PROG_PRE, KPL_PROG_POST, KPL_PROG_FAULT },
	.run[KPL_OP_ADD] = kpl_kprobe_add,
	.run[KPL_OP_ARM] = kpl_kprobe_arm,
	.run[KPL_OP_DISARM] = kpl_kprobe_disarm,
	.run[KPL_OP_REMOVE] = kpl_kprobe_remove,
	.state = kpl_kprobe_state,
	.stats = kpl_kprobe_stats,
};
