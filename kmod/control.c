// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Attached probes are enabled, disabled and detached, many at once; and those
 * that took more than their session's share are disabled.  Process context.
 */
#include <linux/err.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "change.h"
#include "control.h"
#include "core/args.h"
#include "direct.h"
#include "group.h"
#include "log.h"
#include "overload.h"
#include "session.h"

/* -------------------------------------------------------------- as is asked for */

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
			kpl_overload_forgive(&g->prs[i]->origin);
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
		/* What should have become a kretprobe, and could not, is detached. */
		for (i = 0; i < g->nr; i++)
			if (!g->prs[i]->added)
				kpl_probe_release(g->prs[i]);
		break;
	case KPL_CTL_DETACH:
		kpl_group_detach(g, kpl_is_added);
		return 0;
	}
	for (i = 0; i < g->nr; i++)
		if (g->prs[i]->error)
			return g->prs[i]->error;
	return 0;
}

/* What changes something needs the rights to whenever it is armed. */
static int kpl_group_may(struct kpl_session *s, const struct kpl_group *g)
{
	u32 i, n;

	if (kpl_rights_now(s))
		return 0;
	for (i = 0; i < g->nr; i++) {
		const struct kpl_probe_ops *ops = g->prs[i]->ops;

		/* Of these, how the stack is laid out was user space's word. */
		if ((ops == &kpl_direct_ops && !kpl_may_write_kernel()) ||
		    kpl_may_place(ops))
			return -EPERM;
		for (n = 0; n < KPL_HANDLERS; n++) {
			const struct kpl_prog *prog = g->prs[i]->handler[n].prog;

			if (prog && (prog->moved || prog->writes))
				return -EPERM;
		}
	}
	return 0;
}

static bool kpl_is_sound(const struct kpl_probe *pr)
{
	return pr->added && !pr->error;
}

static int kpl_control_listed(struct kpl_session *s, const u32 *ids, const struct kpl_control *arg)
{
	struct kpl_group g = kpl_group_of(s);
	int err = kpl_group_listed(s, &g, ids, arg);
	u32 i;

	if (!err && arg->op == KPL_CTL_ENABLE)
		err = kpl_group_may(s, &g);
	if (!err) {
		err = kpl_group_control(&g, arg->op);
		if (arg->op == KPL_CTL_ENABLE)
			kpl_log_armed(s, kpl_group_count(&g, kpl_is_sound));
	}
	for (i = 0; i < g.nr; i++)
		g.prs[i]->listed = false;
	return err;
}

int kpl_control(struct kpl_session *s, struct kpl_control *arg)
{
	struct kpl_session *payer = s;
	u32 *ids;
	int err = kpl_check_control(arg);

	if (err)
		return err;
	err = arg->op == KPL_CTL_ENABLE ? kpl_probing_allowed() : 0;
	if (err)
		return err;
	ids = kpl_copy_in(s, arg->ids, arg->nr, sizeof(*ids));
	if (ids == ERR_PTR(-EDQUOT) || ids == ERR_PTR(-ENOMEM)) {
		/* Where no memory is granted, too, a session can detach: one call at a time. */
		if (mutex_lock_killable(&s->unpaid))
			return -EINTR;
		payer = NULL;
		ids = kpl_copy_in(payer, arg->ids, arg->nr, sizeof(*ids));
	}
	err = PTR_ERR_OR_ZERO(ids) ?: kpl_session_lock(s);
	if (!err) {
		err = kpl_control_listed(s, ids, arg);
		kpl_session_unlock(s);
	}
	if (!IS_ERR(ids))
		kpl_copy_free(payer, ids, arg->nr, sizeof(*ids));
	if (!payer)
		mutex_unlock(&s->unpaid);
	return err;
}

/* ---------------------------------------------------------------- overloaded */

#define KPL_OVERLOAD_AGAIN	(HZ / 10)

/* All at once: for each, ftrace might go through its functions anew. */
static void kpl_overloaded_disarm(struct kpl_session *s)
{
	struct kpl_group g = kpl_group_of(s);
	struct kpl_probe *pr;
	unsigned long id;

	WRITE_ONCE(s->overload_waits, false);
	WRITE_ONCE(s->overloads_done, atomic_read_acquire(&s->overloads));
	xa_for_each(&s->probes, id, pr)
		if (pr->added && READ_ONCE(pr->origin.overload))
			g.prs[g.nr++] = pr;
	kpl_group_run(&g, KPL_OP_DISARM, kpl_is_added);
}

void kpl_overloaded_first(struct kpl_session *s)
{
	if (likely(!READ_ONCE(s->overload_waits)))
		return;
	/* Nor is a process of another PID namespace to wait for RCU-tasks: kpl_must_not_wait(). */
	if (task_active_pid_ns(current) != &init_pid_ns || kpl_session_lock(s))
		return;
	kpl_overloaded_disarm(s);
	mutex_unlock(&s->lock);
}

/* A call may hold the lock for an hour, and workers that wait for one are soon all there are. */
void kpl_probes_overloaded(struct work_struct *work)
{
	struct kpl_session *s = container_of(to_delayed_work(work), struct kpl_session, overloaded);

	/* An end under way disarms them itself. */
	if (READ_ONCE(s->closing))
		return;
	if (mutex_trylock(&s->lock)) {
		kpl_overloaded_disarm(s);
		mutex_unlock(&s->lock);
	} else {
		WRITE_ONCE(s->overload_waits, true);
		queue_delayed_work(kpl_waiters, &s->overloaded, KPL_OVERLOAD_AGAIN);
	}
}
