// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The kernel's log: one line when a session has armed its first probes, one
 * when it ends, one when its reader is gone.
 */
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "kind.h"
#include "log.h"
#include "ring.h"
#include "stats.h"
#include "words.h"

static bool kpl_log_sessions = true;
module_param_named(log_sessions, kpl_log_sessions, bool, 0644);
MODULE_PARM_DESC(log_sessions, "Whether the kernel's log tells of sessions");

/* A session may be given another name at any time. */
static DEFINE_SPINLOCK(kpl_names_lock);

static const char *kpl_log_name_of(const struct kpl_session *s, char *name)
{
	spin_lock(&kpl_names_lock);
	memcpy(name, s->name, sizeof(s->name));
	spin_unlock(&kpl_names_lock);
	return name;
}

/* "process 123 (command), user 0, script.lua": what all lines begin with. */
#define kpl_log(s, level, format, ...)							\
	do {										\
		char name_[KPL_TITLE_SIZE];						\
											\
		if (READ_ONCE(kpl_log_sessions))					\
			printk_ratelimited(level "kprobe_lua: process %d (%s), user %u, %s: "	\
					   format "\n", (s)->opener_nr, (s)->command,	\
					   (s)->user, kpl_log_name_of(s, name_),	\
					   ##__VA_ARGS__);				\
	} while (0)

/* ----------------------------------------------------------------- sessions */

void kpl_log_name(struct kpl_session *s, const char *name)
{
	spin_lock(&kpl_names_lock);
	kpl_printable(s->name, sizeof(s->name), name);
	spin_unlock(&kpl_names_lock);
}

void kpl_log_opener(struct kpl_session *s)
{
	kpl_printable(s->command, sizeof(s->command), current->comm);
	kpl_log_name(s, current->comm);
	s->user = from_kuid(&init_user_ns, current_uid());
}

void kpl_log_armed(struct kpl_session *s, u32 nr)
{
	if (s->arm_told || !nr)
		return;
	s->arm_told = true;
	kpl_log(s, KERN_INFO, "armed %u probes", nr);
}

static u64 kpl_counts_stopped(const struct kpl_counts *counts)
{
	return counts->faults + counts->errors + counts->overruns;
}

/* A call with handlers on both sides is one hit. */
void kpl_log_ended(struct kpl_session *s)
{
	u64 hits = 0, missed = 0, stopped = 0;
	struct kpl_probe *pr;
	unsigned long id;

	if (!s->arm_told)
		return;
	xa_for_each(&s->probes, id, pr) {
		struct kpl_probe_stats stats = { };

		pr->ops->stats(pr, &stats);
		stopped += kpl_counts_stopped(&stats.entry) + kpl_counts_stopped(&stats.ret);
		hits += max(stats.entry.hits, stats.ret.hits);
		missed += max(stats.entry.missed, stats.ret.missed);
		cond_resched_tasks_rcu_qs();
	}
	kpl_log(s, KERN_INFO,
		"ended with %u probes, %llu hits, %llu missed, %llu stopped, %llu events lost",
		s->nr_probes, hits, missed, stopped, kpl_rings_sums(s).lost);
}

bool kpl_log_unread(struct kpl_session *s, u64 lost)
{
	kpl_log(s, KERN_WARNING,
		"does not read its events, %llu are lost so far: is it stopped, or debugged?",
		lost);
	return true;
}

void kpl_log_dead(struct kpl_session *s)
{
	kpl_log(s, KERN_WARNING, "no sign of life for %u seconds: detached", s->dead_man);
}
