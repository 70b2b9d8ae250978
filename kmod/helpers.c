// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The helpers on task, time and arithmetic, and the table of all.  Any context, preemption off. */
#include <linux/cred.h>
#include <linux/mm_types.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/timekeeping.h>

#include "guard.h"
#include "helpers.h"

/* Arguments and result as in helpers.def; what a helper does not take, it ignores. */
#define KPL_HELPER(name) \
	u64 kpl_h_##name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)

KPL_HELPER(now)
{
	return ktime_get_mono_fast_ns();
}

KPL_HELPER(pid)
{
	return current->tgid;
}

KPL_HELPER(tid)
{
	return current->pid;
}

/* Preemption is off: the parent of a task that has not been released can't go away. */
KPL_HELPER(ppid)
{
	return pid_alive(current) ? rcu_dereference_raw(current->real_parent)->tgid : 0;
}

KPL_HELPER(uid)
{
	return __kuid_val(current_uid());
}

KPL_HELPER(gid)
{
	return __kgid_val(current_gid());
}

KPL_HELPER(task)
{
	return (unsigned long)current;
}

KPL_HELPER(space)
{
	const struct mm_struct *mm = current->mm;

	if (!mm)
		return 0;
	return kpl_space(current->tgid, READ_ONCE(mm->start_code), READ_ONCE(mm->start_stack));
}

/* Where they lie there is memory, whatever the task: its stack. */
KPL_HELPER(user_reg)
{
	if (r1 > sizeof(struct pt_regs) - 8)
		return 0;
	return *(u64 *)((unsigned long)current_pt_regs() + (r1 & ~7ull));
}

KPL_HELPER(cgroup)
{
	return kpl_current_cgroup();
}

KPL_HELPER(status_clear)
{
	struct kpl_hit *hit = (struct kpl_hit *)r1;
	u32 status = hit->status;

	hit->status = 0;
	return status;
}

KPL_HELPER(sdiv)
{
	s64 a = r1, b = r2;

	if (!b)
		return 0;
	return b == -1 ? -r1 : (u64)(a / b);
}

KPL_HELPER(smod)
{
	s64 a = r1, b = r2;

	if (!b)
		return r1;
	return b == -1 ? 0 : (u64)(a % b);
}

#ifdef KPL_TEST_ROWS
KPL_HELPER(test_twice)
{
	return 2 * r1;
}
#endif

/* The first exit counts; from the next hit on, nothing is delivered. */
KPL_HELPER(exit)
{
	struct kpl_session *s = kpl_ctx_of(r1)->origin->session;

	kpl_acts(r1);
	if (atomic_xchg(&s->exit_claimed, 1))
		return 0;
	s->exit_code = r2;
	WRITE_ONCE(s->live, NULL);
	/* Whoever sees the end sees its code. */
	smp_store_release(&s->exiting, 1);
	kpl_session_wake(s);
	return 0;
}

#define HELPER(id, name, ...)	\
	[id] = kpl_h_##name,

const kpl_helper_fn kpl_helpers[KPL_HELPERS] = {
#include "uapi/helpers.def"
	[KPL_H_ADD_NUMBER] = kpl_h_add_number,
	[KPL_H_ADD_AT_NUMBER] = kpl_h_add_at_number,
	[KPL_H_ADD_AT_STRING] = kpl_h_add_at_string,
	[KPL_H_ADD_HIST] = kpl_h_add_hist,
	[KPL_H_CLOCK] = (kpl_helper_fn)(void *)ktime_get_mono_fast_ns,
};

#undef HELPER
