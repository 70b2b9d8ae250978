// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Probes of all kinds: attached as a batch (all or none); and all of a session's,
 * at its end.  Process context; but for the copies from and to user space, the
 * session's lock is held.
 */
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/args.h"
#include "change.h"
#include "group.h"
#include "guard.h"
#include "log.h"
#include "overload.h"
#include "place.h"
#include "probe.h"
#include "session.h"

/* ------------------------------------------------------------ one after one */

static void kpl_probe_free(struct kpl_session *s, struct kpl_probe *pr)
{
	if (pr->ops && pr->ops->free)
		pr->ops->free(pr);
	if (pr->ops)
		kpl_probe_release(pr);
	free_percpu(pr->origin.outcomes);
	kpl_uncharge(s, pr->charged);
	if (!pr->stuck)
		kfree(pr);
}

static atomic64_t kpl_serial;

static struct kpl_probe *kpl_probe_alloc(struct kpl_session *s, u64 held)
{
	u64 charged = sizeof(struct kpl_probe) + held +
		      (u64)num_possible_cpus() * sizeof(struct kpl_outcomes);
	int err = kpl_charge(s, charged);
	struct kpl_probe *pr;

	if (err)
		return ERR_PTR(err);
	pr = kzalloc(sizeof(*pr), KPL_GFP);
	if (!pr) {
		kpl_uncharge(s, charged);
		return ERR_PTR(-ENOMEM);
	}
	pr->charged = charged;
	pr->held = held;
	pr->origin = (struct kpl_origin) {
		.serial = atomic64_inc_return(&kpl_serial),
		.session = s,
		.live = &s->live,
		.cpu = s->cpu,
		.outcomes = alloc_percpu_gfp(struct kpl_outcomes, KPL_GFP_PERCPU),
	};
	if (!pr->origin.outcomes) {
		kpl_probe_free(s, pr);
		return ERR_PTR(-ENOMEM);
	}
	return pr;
}

/* The programs that an element names; each must be of the kind that its place wants. */
static int kpl_probe_progs(struct kpl_session *s, const struct kpl_probe_ops *ops,
			   const struct kpl_attach *a, const struct kpl_prog **progs)
{
	u32 i;

	for (i = 0; i < KPL_HANDLERS; i++) {
		progs[i] = NULL;
		if (a->prog[i] == KPL_NO_PROG)
			continue;
		progs[i] = kpl_prog_get(s, a->prog[i]);
		if (!progs[i] || progs[i]->kind != ops->kinds[i])
			return -EINVAL;
	}
	return progs[KPL_SIDE_FIRST] || progs[KPL_SIDE_SECOND] ? 0 : -EINVAL;
}

/* What changes something needs the session's rights again, and a place where it can. */
static int kpl_probe_changes(struct kpl_session *s, const struct kpl_probe_ops *ops,
			     const struct kpl_attach *a, const struct kpl_prog **progs,
			     u32 *returns)
{
	bool writes = false;
	u32 i, n, moved = 0;
	int err;

	*returns = KPL_RETURNS_ANY;
	for (i = 0; i < KPL_HANDLERS; i++) {
		moved |= progs[i] ? progs[i]->moved : 0;
		writes |= progs[i] && progs[i]->writes;
		for (n = 0; progs[i] && n < progs[i]->nr_targets; n++)
			if (!kpl_stays_with(progs[i]->targets[n], a->addr))
				return -EXDEV;
	}
	if (!moved && !writes)
		return 0;
	if (!ops->changes)
		return -EINVAL;
	if (!kpl_rights_now(s))
		return -EPERM;
	if (!(moved & KPL_MOVE_OVERRIDE))
		return 0;
	err = kpl_check_override(a->addr, returns);
	if (err)
		return err;
	if (!(s->rights & KPL_RIGHT_CHANGE))
		return *returns ? 0 : -EACCES;
	*returns = KPL_RETURNS_ANY;
	return 0;
}

static struct kpl_probe *kpl_probe_create(struct kpl_session *s, const struct kpl_attach *a)
{
	const struct kpl_prog *progs[KPL_HANDLERS];
	const struct kpl_probe_ops *ops = kpl_probe_kind(a->kind);
	struct kpl_probe *pr;
	u32 i, returns;
	int err;

	if (!ops)
		return ERR_PTR(-EINVAL);
	err = kpl_check_attach(a, &ops->rules) ?:
	      kpl_may_place(ops) ?:
	      (a->kind == KPL_PROBE_FTRACE ? kpl_check_site(a->addr) : 0) ?:
	      kpl_probe_progs(s, ops, a, progs) ?:
	      kpl_probe_changes(s, ops, a, progs, &returns);
	if (err)
		return ERR_PTR(err);
	pr = kpl_probe_alloc(s, ops->memory ? ops->memory(a, progs) : 0);
	if (IS_ERR(pr))
		return pr;
	for (i = 0; i < KPL_HANDLERS; i++)
		pr->handler[i] = kpl_handler_of(progs[i], &pr->origin);
	pr->origin.func = a->func;
	pr->origin.addr = a->addr;
	pr->origin.line = a->line;
	pr->origin.returns = returns;
	pr->origin.entry = a->flags & KPL_ATTACH_F_ENTRY;
	pr->when = a->when;
	pr->ops = ops;
	pr->maxactive = a->maxactive;
	pr->stack_args = a->stack_args;
	pr->period = a->period;
	pr->event = a->event;
	pr->len = a->len;
	pr->semaphore = a->semaphore;
	pr->fd = a->fd;
	pr->hold = a->flags & KPL_ATTACH_F_DISABLED;
	pr->else_kprobe = a->flags & KPL_ATTACH_F_ELSE_KPROBE;
	err = kpl_probe_join_crowd(pr);
	if (!err)
		return pr;
	kpl_probe_free(s, pr);
	return ERR_PTR(err);
}

/* ------------------------------------------------------------------- attach */

static bool kpl_is_any(const struct kpl_probe *pr)
{
	return true;
}

static bool kpl_is_to_arm(const struct kpl_probe *pr)
{
	return pr->added && !pr->hold;
}

static bool kpl_is_broken(const struct kpl_probe *pr)
{
	return pr->added && pr->error;
}

static void kpl_batch_create(struct kpl_session *s, struct kpl_group *g, struct kpl_attach *list)
{
	u32 i;

	for (i = 0; i < g->nr; i++) {
		struct kpl_probe *pr = ERR_PTR(-EINTR);

		if (!kpl_session_interrupted(s))
			pr = kpl_probe_create(s, &list[i]);
		list[i].id = 0;
		list[i].error = PTR_ERR_OR_ZERO(pr);
		g->prs[i] = IS_ERR(pr) ? NULL : pr;
	}
}

/* Takes the errors over to user space's list: the one that forbids the whole, or 0. */
static int kpl_batch_errors(struct kpl_group *g, struct kpl_attach *list, u32 *failed)
{
	int err = 0;
	u32 i;

	*failed = 0;
	for (i = 0; i < g->nr; i++) {
		if (g->prs[i] && g->prs[i]->error)
			list[i].error = g->prs[i]->error;
		if (!list[i].error)
			continue;
		++*failed;
		if (list[i].error == -EINTR)
			return -EINTR;
		if (!(list[i].flags & KPL_ATTACH_F_OPTIONAL))
			err = -ECANCELED;
	}
	return err;
}

/* Frees the probes that could not be registered. */
static void kpl_batch_drop_failed(struct kpl_session *s, struct kpl_group *g)
{
	u32 i;

	for (i = 0; i < g->nr; i++) {
		if (!g->prs[i] || g->prs[i]->added)
			continue;
		kpl_probe_free(s, g->prs[i]);
		g->prs[i] = NULL;
	}
}

/* Gives ids, before anything is armed. */
static int kpl_batch_publish(struct kpl_session *s, struct kpl_group *g, struct kpl_attach *list,
			     u32 *next_id)
{
	u32 i;
	int err;

	for (i = 0; i < g->nr; i++) {
		if (!g->prs[i])
			continue;
		if (*next_id == KPL_MAX_PROBES)
			return -E2BIG;
		err = xa_err(xa_store(&s->probes, *next_id, g->prs[i], KPL_GFP));
		if (err)
			return err;
		list[i].id = (*next_id)++;
	}
	return 0;
}

/* What each has become. */
static void kpl_batch_tell(struct kpl_group *g, struct kpl_attach *list)
{
	u32 i;

	for (i = 0; i < g->nr; i++) {
		if (!g->prs[i])
			continue;
		list[i].kind = g->prs[i]->ops->kind;
		if (!list[i].why)
			list[i].why = g->prs[i]->why;
	}
}

/* None: everything is as it was before. */
static void kpl_batch_undo(struct kpl_session *s, struct kpl_group *g, struct kpl_attach *list,
			   u32 next_id)
{
	u32 i;

	kpl_group_detach(g, kpl_is_added);
	while (next_id > s->nr_probes)
		xa_erase(&s->probes, --next_id);
	for (i = 0; i < g->nr; i++) {
		if (g->prs[i])
			kpl_probe_free(s, g->prs[i]);
		if (!list[i].error)
			list[i].error = -ECANCELED;
		list[i].id = 0;
	}
}

static int kpl_batch_attach(struct kpl_session *s, struct kpl_attach *list,
			    struct kpl_attach_batch *arg)
{
	u32 next_id = s->nr_probes;
	struct kpl_group g;
	int err;

	err = kpl_room_reserve(s, s->nr_probes + arg->nr);
	if (err)
		return err;
	g = kpl_group_of(s);
	g.nr = arg->nr;
	WRITE_ONCE(s->work_done, 0);
	WRITE_ONCE(s->work_total, 2 * g.nr);	/* added, armed */
	kpl_batch_create(s, &g, list);
	kpl_group_run(&g, KPL_OP_ADD, kpl_is_any);
	kpl_batch_tell(&g, list);
	err = kpl_batch_errors(&g, list, &arg->failed);
	if (err)
		goto undo;
	kpl_batch_drop_failed(s, &g);
	err = kpl_batch_publish(s, &g, list, &next_id);
	if (err)
		goto undo;
	kpl_overload_watch();
	kpl_group_run(&g, KPL_OP_ARM, kpl_is_to_arm);
	kpl_batch_tell(&g, list);
	err = kpl_batch_errors(&g, list, &arg->failed);
	if (err)
		goto undo;
	/* An optional one that could not be armed keeps its id, detached. */
	if (arg->failed)
		kpl_group_detach(&g, kpl_is_broken);
	WRITE_ONCE(s->nr_probes, next_id);
	kpl_log_armed(s, kpl_group_count(&g, kpl_is_to_arm));
	kpl_reader_watch(s);
	return 0;

undo:
	kpl_batch_undo(s, &g, list, next_id);
	return err == -EINTR && !signal_pending(current) ? -ESHUTDOWN : err;
}

int kpl_attach(struct kpl_session *s, struct kpl_attach_batch *arg)
{
	struct kpl_attach *list;
	int err;

	arg->failed = 0;
	err = kpl_check_attach_batch(arg);
	if (err)
		return err;
	list = kpl_copy_in(s, arg->probes, arg->nr, sizeof(*list));
	if (IS_ERR(list))
		return PTR_ERR(list);
	err = kpl_session_lock(s);
	if (!err) {
		err = s->dead ? -ESHUTDOWN : kpl_batch_attach(s, list, arg);
		kpl_session_unlock(s);
		/* What is attached stays so: it goes with the session. */
		if (copy_to_user(u64_to_user_ptr(arg->probes), list, arg->nr * sizeof(*list)))
			err = -EFAULT;
	}
	kpl_copy_free(s, list, arg->nr, sizeof(*list));
	return err;
}

/* -------------------------------------------------------- all of the session's */

/* A detached probe still says by `run` which handlers it had; nothing calls this. */
static u64 kpl_run_gone(const void *hit, const struct bpf_insn *insns)
{
	return KPL_RET_DONE;
}

bool kpl_probes_leave(struct kpl_session *s, const struct kpl_prog *prog)
{
	static const struct kpl_handler gone = { .run = kpl_run_gone };
	struct kpl_probe *pr;
	unsigned long id;
	bool left = false;
	u32 i;

	xa_for_each(&s->probes, id, pr)
		for (i = 0; i < KPL_HANDLERS; i++)
			if (pr->handler[i].prog == prog && pr->added)
				return false;
	xa_for_each(&s->probes, id, pr) {
		for (i = 0; i < KPL_HANDLERS; i++) {
			if (pr->handler[i].prog != prog)
				continue;
			pr->handler[i] = gone;
			left = true;
		}
	}
	if (left)
		kpl_hits_drain();
	return true;
}

void kpl_detach_all(struct kpl_session *s)
{
	struct kpl_group g = kpl_group_of(s);
	struct kpl_probe *pr;
	unsigned long id;

	if (!s->nr_probes)
		return;
	xa_for_each(&s->probes, id, pr)
		g.prs[g.nr++] = pr;
	kpl_group_detach(&g, kpl_is_added);
}

void kpl_probes_free(struct kpl_session *s)
{
	struct kpl_probe *pr;
	unsigned long id;

	xa_for_each(&s->probes, id, pr)
		kpl_probe_free(s, pr);
	xa_destroy(&s->probes);
	kpl_room_free(s);
}
