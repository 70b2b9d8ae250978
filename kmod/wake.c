// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Wake-ups.  A hit asks for an interrupt (kpl_session_wake), which wakes who polls
 * the session's file; or a timer, if the last one was just before.
 */
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/poll.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "overload.h"
#include "wake.h"

#define KPL_WAKE_APART	(100 * NSEC_PER_USEC)
#define KPL_WAKE_MODE	(IS_ENABLED(CONFIG_PREEMPT_RT) ? HRTIMER_MODE_REL_HARD : HRTIMER_MODE_REL)

/* A worker, with PREEMPT_RT. */
static void kpl_wake_rouse(struct work_struct *work)
{
	wake_up_poll(&container_of(work, struct kpl_session, rouse)->wait, EPOLLIN);
}

static void kpl_wake_tell(struct kpl_session *s, u64 now)
{
	WRITE_ONCE(s->woke, now);
	kpl_overload_woken(s);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		queue_work(kpl_jobs, &s->rouse);
	else
		wake_up_poll(&s->wait, EPOLLIN);
}

/*
 * An interrupt.  A hit on its way, or behind it, may ask for the next one, which
 * would come before the CPU gets to anything else: they are KPL_WAKE_APART.
 */
static void kpl_wake_asked(struct irq_work *work)
{
	struct kpl_session *s = container_of(work, struct kpl_session, wake);
	u64 now = ktime_get_mono_fast_ns();

	/* A CPU on its way off may have no timers any more; hits there ask for nothing. */
	if (now - READ_ONCE(s->woke) >= KPL_WAKE_APART || !cpu_online(raw_smp_processor_id())) {
		kpl_wake_tell(s, now);
		return;
	}
	WRITE_ONCE(s->wake_timed, true);
	hrtimer_start(&s->wake_timer, ns_to_ktime(KPL_WAKE_APART), KPL_WAKE_MODE);
}

/* Who saw wake_timed set has put down before what it wakes for. */
static enum hrtimer_restart kpl_wake_timed(struct hrtimer *timer)
{
	struct kpl_session *s = container_of(timer, struct kpl_session, wake_timer);

	WRITE_ONCE(s->wake_timed, false);
	smp_mb();
	kpl_wake_tell(s, ktime_get_mono_fast_ns());
	return HRTIMER_NORESTART;
}

/*
 * With PREEMPT_RT, what is not for an interrupt is left to a thread of the CPU,
 * which stops before the CPU does: it would stay pending, and be waited for, for
 * ever.
 */
void kpl_wake_begin(struct kpl_session *s)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		s->wake = IRQ_WORK_INIT_HARD(kpl_wake_asked);
	else
		init_irq_work(&s->wake, kpl_wake_asked);
	hrtimer_setup(&s->wake_timer, kpl_wake_timed, CLOCK_MONOTONIC, KPL_WAKE_MODE);
	INIT_WORK(&s->rouse, kpl_wake_rouse);
}

/* ------------------------------------------------------------------ late ones */

static void kpl_wake_run(void *unused)
{
	irq_work_run();
}

/*
 * A machine that has slept, or a guest that has moved (Xen), may have lost the
 * interrupt by which what is queued on a CPU would run; then it is waited for for
 * ever.  It comes by another one.
 */
static void kpl_wake_all(void)
{
	on_each_cpu(kpl_wake_run, NULL, 1);
}

void kpl_wake_flush(struct kpl_session *s)
{
	if (irq_work_is_busy(&s->wake))
		kpl_wake_all();
}

static void kpl_wake_late(struct kpl_session *s, void *unused)
{
	if (xchg(&s->wake_late, false))
		irq_work_queue(&s->wake);
}

/* A CPU has come or gone: wakes those that hits there could not. */
static int kpl_wake_cpu(unsigned int cpu)
{
	kpl_sessions_each(kpl_wake_late, NULL);
	return 0;
}

void kpl_wake_woke(void)
{
	kpl_wake_all();
	kpl_sessions_each(kpl_wake_late, NULL);
}

static int kpl_gone_state, kpl_there_state;

int kpl_wake_init(void)
{
	kpl_gone_state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "kprobe_lua:gone", NULL,
						   kpl_wake_cpu);
	if (kpl_gone_state < 0)
		return kpl_gone_state;
	kpl_there_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "kprobe_lua:there",
						    kpl_wake_cpu, NULL);
	if (kpl_there_state >= 0)
		return 0;
	cpuhp_remove_state_nocalls(kpl_gone_state);
	return kpl_there_state;
}

void kpl_wake_exit(void)
{
	cpuhp_remove_state_nocalls(kpl_there_state);
	cpuhp_remove_state_nocalls(kpl_gone_state);
}

/* ----------------------------------------------------------------------- ends */

/* What is queued may start the timer. */
void kpl_wake_end(struct kpl_session *s)
{
	kpl_wake_flush(s);
	irq_work_sync(&s->wake);
	hrtimer_cancel(&s->wake_timer);
}

void kpl_wake_leave(struct kpl_session *s)
{
	kpl_wake_end(s);
	/* The kernel looks at a work for an interrupt once more after it is done. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		synchronize_rcu();
	cancel_work_sync(&s->rouse);
}
