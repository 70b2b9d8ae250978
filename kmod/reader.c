// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The reader: the process that opened a session.  One that is stopped, or in a
 * debugger, reads no more, and the log says so; one that promised to speak (its
 * dead man's time) and is silent has its probes detached.  Process context.
 */
#include <linux/jiffies.h>
#include <linux/poll.h>

#include "core/args.h"
#include "log.h"
#include "probe.h"
#include "reader.h"
#include "ring.h"
#include "wake.h"

/* Processes are about to stand still, or do, while time goes on. */
static bool kpl_asleep;

static u32 kpl_reader_period(const struct kpl_session *s)
{
	return min_not_zero(s->dead_man, (u32)KPL_READER_PERIOD) * HZ;
}

static bool kpl_reader_silent(const struct kpl_session *s)
{
	u32 dead_man = READ_ONCE(s->dead_man);

	return dead_man && !smp_load_acquire(&kpl_asleep) && READ_ONCE(s->nr_probes) &&
	       time_after(jiffies, READ_ONCE(s->heard) + dead_man * HZ);
}

/* What was gathered stays: a reader that comes to life again can read it. */
static bool kpl_reader_dead(struct kpl_session *s)
{
	bool dead;

	/* Who has the lock is at work. */
	if (!mutex_trylock(&s->lock))
		return false;
	/* It may have been at work until now, with the lock. */
	dead = !s->closed && !s->dead && kpl_reader_silent(s);
	if (dead) {
		WRITE_ONCE(s->dead, true);
		kpl_detach_all(s);
		kpl_log_dead(s);
	}
	mutex_unlock(&s->lock);
	wake_up_poll(&s->wait, EPOLLIN);
	return dead;
}

/*
 * A reader that is stopped, or in a debugger, looks like one with nothing to
 * do, until there is something to read; one with a dead man's time must speak.
 */
static void kpl_reader_look(struct work_struct *work)
{
	struct kpl_session *s = container_of(to_delayed_work(work), struct kpl_session, reader);
	bool dead = kpl_reader_silent(s);
	struct kpl_ring_sums now = kpl_rings_sums(s), *seen = &s->sums_seen;
	bool loses = now.lost != seen->lost;
	/* Told once: some read but seldom.  Who has the lock is at work. */
	bool waits = now.waits && seen->waits && !s->waits_told && !mutex_is_locked(&s->lock);
	bool asleep = READ_ONCE(kpl_asleep);

	kpl_wake_flush(s);
	if (now.read != seen->read)
		s->read_told = false;
	/* What a dead one lost since the last look is told, too. */
	if (!s->read_told && !asleep && (dead ? loses : now.read == seen->read && (loses || waits)))
		s->waits_told = s->read_told = kpl_log_unread(s, now.lost);
	*seen = now;
	if (!(dead && kpl_reader_dead(s)) && !READ_ONCE(s->closing))
		queue_delayed_work(kpl_waiters, &s->reader, kpl_reader_period(s));
}

void kpl_reader_begin(struct kpl_session *s)
{
	INIT_DELAYED_WORK(&s->reader, kpl_reader_look);
}

void kpl_reader_leave(struct kpl_session *s)
{
	cancel_delayed_work_sync(&s->reader);
}

void kpl_reader_sleeps(void)
{
	WRITE_ONCE(kpl_asleep, true);
}

static void kpl_reader_heard(struct kpl_session *s, void *unused)
{
	WRITE_ONCE(s->heard, jiffies);
}

void kpl_reader_woke(void)
{
	kpl_sessions_each(kpl_reader_heard, NULL);
	smp_store_release(&kpl_asleep, false);
}

/* Locked. */
int kpl_title(struct kpl_session *s, struct kpl_title *arg)
{
	int err = kpl_check_title(arg);

	if (err)
		return err;
	kpl_log_name(s, arg->name);
	WRITE_ONCE(s->dead_man, arg->dead_man);
	mod_delayed_work(kpl_waiters, &s->reader, kpl_reader_period(s));
	return 0;
}
