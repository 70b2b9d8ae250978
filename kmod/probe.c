// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Probes of all kinds: attached as a batch (all or none), controlled, counted,
 * detached.  Process context; but for the copies from and to user space, the
 * session's lock is held.
 */
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "area.h"
#include "overload.h"
#include "probe.h"

static const struct kpl_probe_ops *const kpl_probe_kinds[KPL_PROBE_KINDS] = {
	[KPL_PROBE_KPROBE] = &kpl_kprobe_ops,
	[KPL_PROBE_KRETPROBE] = &kpl_kretprobe_ops,
	[KPL_PROBE_FTRACE] = &kpl_ftrace_ops,
};

#define KPL_WHEN_ALL \
	(KPL_WHEN_PID | KPL_WHEN_TID | KPL_WHEN_COMM | KPL_WHEN_CPU | KPL_WHEN_CGROUP)
/* Taken by all kinds of probes. */
#define KPL_ATTACH_F_ALL	(KPL_ATTACH_F_DISABLED | KPL_ATTACH_F_OPTIONAL)

/* ------------------------------------------------------------ one after one */

static void kpl_probe_free(struct kpl_session *s, struct kpl_probe *pr)
{
	if (pr->ops && pr->ops->free)
		pr->ops->free(pr);
	free_percpu(pr->outcomes);
	kpl_uncharge(s, pr->charged);
	if (!pr->stuck)
		kfree(pr);
}

static atomic64_t kpl_serial;

static struct kpl_probe *kpl_probe_alloc(struct kpl_session *s, u64 instances)
{
	u64 charged = sizeof(struct kpl_probe) + instances +
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
	pr->session = s;
	pr->live = &s->live;
	pr->serial = atomic64_inc_return(&kpl_serial);
	pr->cpu = s->cpu;
	pr->charged = charged;
	pr->outcomes = alloc_percpu_gfp(struct kpl_outcomes, KPL_GFP_PERCPU);
	if (!pr->outcomes) {
		kpl_probe_free(s, pr);
		return ERR_PTR(-ENOMEM);
	}
	return pr;
}

int kpl_probe_dry(struct kpl_session *s)
{
	struct kpl_probe *pr = kpl_probe_alloc(s, 0);

	if (IS_ERR(pr))
		return PTR_ERR(pr);
	s->dry = pr;
	return 0;
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

static struct kpl_probe *kpl_probe_create(struct kpl_session *s, const struct kpl_attach *a)
{
	const struct kpl_prog *progs[KPL_HANDLERS];
	const struct kpl_probe_ops *ops;
	struct kpl_probe *pr;
	u32 i;
	int err;

	if (a->kind >= KPL_PROBE_KINDS || a->when.mask & ~KPL_WHEN_ALL)
		return ERR_PTR(-EINVAL);
	ops = kpl_probe_kinds[a->kind];
	if (a->flags & ~(KPL_ATTACH_F_ALL | ops->flags))
		return ERR_PTR(-EINVAL);
	if (a->maxactive > ops->maxactive)
		return ERR_PTR(ops->maxactive ? -E2BIG : -EINVAL);
	err = kpl_probe_progs(s, ops, a, progs);
	if (err)
		return ERR_PTR(err);
	pr = kpl_probe_alloc(s, ops->memory ? ops->memory(a, progs) : 0);
	if (IS_ERR(pr))
		return pr;
	for (i = 0; i < KPL_HANDLERS; i++)
		pr->handler[i] = kpl_handler_of(progs[i]);
	pr->func = a->func;
	pr->addr = a->addr;
	pr->when = a->when;
	pr->ops = ops;
	pr->maxactive = a->maxactive;
	pr->hold = a->flags & KPL_ATTACH_F_DISABLED;
	pr->else_kprobe = a->flags & KPL_ATTACH_F_ELSE_KPROBE;
	return pr;
}

/* ------------------------------------------------------------ groups of them */

/* Probes of one operation, and room to sort them by kind: both in the session's room. */
struct kpl_group {
	struct kpl_probe **prs;		/* NULL elements are passed over */
	struct kpl_probe **some;	/* as many */
	u32 nr;
};

static u64 kpl_room_memory(u32 nr)
{
	return 2ull * nr * sizeof(struct kpl_probe *);
}

/* Whatever is done later with so many probes, their end at least, needs no memory. */
static int kpl_room_reserve(struct kpl_session *s, u32 nr)
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

static struct kpl_group kpl_group_of(struct kpl_session *s)
{
	return (struct kpl_group) { .prs = s->room, .some = s->room + s->room_nr };
}

/*
 * One operation of the kinds', on all that pass the test, kind by kind: ftrace
 * first, which may leave some to kprobes.
 */
static void kpl_group_run(struct kpl_group *g, enum kpl_probe_op op,
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

static bool kpl_is_any(const struct kpl_probe *pr)
{
	return true;
}

static bool kpl_is_added(const struct kpl_probe *pr)
{
	return pr->added;
}

static bool kpl_is_to_arm(const struct kpl_probe *pr)
{
	return pr->added && !pr->hold;
}

static bool kpl_is_broken(const struct kpl_probe *pr)
{
	return pr->added && pr->error;
}

/* Afterwards no handler of theirs runs, nor will. */
static void kpl_group_detach(struct kpl_group *g, bool (*test)(const struct kpl_probe *pr))
{
	kpl_group_run(g, KPL_OP_REMOVE, test);
	kpl_hits_drain();
}

/* ------------------------------------------------------------------- attach */

static void kpl_batch_create(struct kpl_session *s, struct kpl_group *g, struct kpl_attach *list)
{
	u32 i;

	for (i = 0; i < g->nr; i++) {
		struct kpl_probe *pr = kpl_probe_create(s, &list[i]);

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
		list[i].kind = g->prs[i]->ops->kind;
	}
	return 0;
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
	err = kpl_batch_errors(&g, list, &arg->failed);
	if (err)
		goto undo;
	kpl_batch_drop_failed(s, &g);
	err = kpl_batch_publish(s, &g, list, &next_id);
	if (err)
		goto undo;
	kpl_overload_watch();
	kpl_group_run(&g, KPL_OP_ARM, kpl_is_to_arm);
	err = kpl_batch_errors(&g, list, &arg->failed);
	if (err)
		goto undo;
	/* An optional one that could not be armed keeps its id, detached. */
	kpl_group_run(&g, KPL_OP_REMOVE, kpl_is_broken);
	s->nr_probes = next_id;
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
	if (!arg->nr)
		return -EINVAL;
	if (arg->nr > KPL_MAX_PROBES)
		return -E2BIG;
	list = kpl_copy_in(arg->probes, arg->nr, sizeof(*list));
	if (IS_ERR(list))
		return PTR_ERR(list);
	err = kpl_session_lock(s);
	if (!err) {
		err = kpl_batch_attach(s, list, arg);
		kpl_session_unlock(s);
		/* What is attached stays so: it goes with the session. */
		if (copy_to_user(u64_to_user_ptr(arg->probes), list, arg->nr * sizeof(*list)))
			err = -EFAULT;
	}
	kvfree(list);
	return err;
}

/* ------------------------------------------------------------------ control */

static int kpl_group_listed(struct kpl_session *s, struct kpl_group *g, const u32 *ids,
			    const struct kpl_control *arg)
{
	u32 i;

	for (i = 0; i < arg->nr; i++) {
		struct kpl_probe *pr = xa_load(&s->probes, ids[i]);

		if (!pr)
			return -EINVAL;
		if (!pr->added && arg->op != KPL_CTL_DETACH)
			return -ENOENT;
		if (pr->listed)		/* named twice */
			continue;
		pr->listed = true;
		pr->error = 0;
		g->prs[g->nr++] = pr;
	}
	return 0;
}

/* Those that took too much have a new start. */
static void kpl_group_forgive(struct kpl_group *g)
{
	u32 i;

	for (i = 0; i < g->nr; i++)
		if (g->prs[i])
			kpl_overload_forgive(g->prs[i]);
}

static int kpl_group_control(struct kpl_group *g, u32 op)
{
	u32 i;

	switch (op) {
	case KPL_CTL_DISABLE:
		kpl_group_run(g, KPL_OP_DISARM, kpl_is_added);
		kpl_group_forgive(g);
		break;
	case KPL_CTL_ENABLE:
		kpl_group_forgive(g);
		kpl_overload_watch();
		kpl_group_run(g, KPL_OP_ARM, kpl_is_added);
		break;
	case KPL_CTL_DETACH:
		kpl_group_detach(g, kpl_is_added);
		break;
	}
	for (i = 0; i < g->nr; i++)
		if (g->prs[i]->error)
			return g->prs[i]->error;
	return 0;
}

static int kpl_control_listed(struct kpl_session *s, const u32 *ids, const struct kpl_control *arg)
{
	struct kpl_group g = kpl_group_of(s);
	int err = kpl_group_listed(s, &g, ids, arg);
	u32 i;

	if (!err)
		err = kpl_group_control(&g, arg->op);
	for (i = 0; i < g.nr; i++)
		g.prs[i]->listed = false;
	return err;
}

int kpl_control(struct kpl_session *s, struct kpl_control *arg)
{
	u32 *ids;
	int err;

	if (!arg->nr || arg->op > KPL_CTL_DETACH)
		return -EINVAL;
	if (arg->nr > KPL_MAX_PROBES)
		return -E2BIG;
	err = arg->op == KPL_CTL_ENABLE ? kpl_probing_allowed() : 0;
	if (err)
		return err;
	ids = kpl_copy_in(arg->ids, arg->nr, sizeof(*ids));
	if (IS_ERR(ids))
		return PTR_ERR(ids);
	err = kpl_session_lock(s);
	if (!err) {
		err = kpl_control_listed(s, ids, arg);
		kpl_session_unlock(s);
	}
	kvfree(ids);
	return err;
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
	if (s->dry)
		kpl_probe_free(s, s->dry);
	kvfree(s->room);
	kpl_uncharge(s, kpl_room_memory(s->room_nr));
}
