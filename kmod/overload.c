// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A bound on what handlers take of each CPU, whoever's they are.
 *
 * While all is well, one hit of about KPL_TIMED_EVERY is timed and stands for
 * the others: a hit pays for a countdown.  When the estimate comes near a
 * session's share, every hit of that CPU is timed for the rest of the window,
 * and only what was measured so decides: a probe that finds itself the costliest
 * of those that count against its session's share, and them over it, is not run
 * again.  From that hit on it is passed over; a work item then disarms it.  When
 * those that a session has lost so took more than its share in a window, hits of
 * its others are missed there until the next: however many they are, each would
 * have its first run.
 *
 * Interrupts may be off for all the time: nothing here waits for a tick.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "core/args.h"
#include "overload.h"

#define KPL_WINDOW	NSEC_PER_SEC
#define KPL_TIMED_EVERY	256	/* hits on average, a power of two */
#define KPL_LONG	(20 * NSEC_PER_USEC)	/* of a handler: its timing is no cost */
#define KPL_SPENDERS	16	/* the costliest, each with its account */

/* What one probe has taken in this window. */
struct kpl_spender {
	u64 probe;		/* its serial number; 0: free */
	u64 ns;
	u32 share;		/* its session's */
};

/* Under the CPU's guard. */
struct kpl_load {
	u64 began;		/* the window */
	u64 spent;		/* ns of handlers in it, estimated unless `exact` */
	bool exact;		/* every hit is timed, since the window began */
	u32 every;		/* hits that one is timed of; doubles up to KPL_TIMED_EVERY */
	u32 weight;		/* hits that the next timed one stands for */
	u32 random;		/* so that no pattern of hits escapes */
	struct kpl_spender spender[KPL_SPENDERS];
};

static DEFINE_PER_CPU(struct kpl_load, kpl_load);

/* What an overloaded probe's `live` points to. */
static struct kpl_session_cpu __percpu *kpl_lifeless;

static u64 kpl_share_ns(u32 share)
{
	return KPL_WINDOW / 100 * share;
}

/* ----------------------------------------------------------- any context, at hits */

static void kpl_window_start(struct kpl_load *load, u64 now, bool exact)
{
	load->began = now;
	load->spent = 0;
	load->exact = exact;
	memset(load->spender, 0, sizeof(load->spender));
}

/*
 * The account of a probe.  Where there is none left, that of the least costly
 * is taken over with what is on it: the sum stays, and whoever is among the
 * costliest has one.
 */
static struct kpl_spender *kpl_spender_of(struct kpl_load *load, u64 probe)
{
	struct kpl_spender *least = load->spender, *s;

	for (s = load->spender; s < load->spender + KPL_SPENDERS; s++) {
		if (s->probe == probe)
			return s;
		if (s->ns < least->ns)
			least = s;
	}
	least->probe = probe;
	return least;
}

/*
 * Against a session's share counts what is taken by all sessions whose share is
 * no larger: who was granted more takes it from nobody.
 */
static bool kpl_is_too_much(const struct kpl_load *load, const struct kpl_spender *mine)
{
	u64 sum = 0, most = kpl_share_ns(mine->share);
	const struct kpl_spender *s;
	bool costlier = false;

	for (s = load->spender; s < load->spender + KPL_SPENDERS; s++) {
		if (s->share > mine->share)
			continue;
		costlier |= s->ns > mine->ns;
		sum += s->ns;
	}
	/* The next hit of a costlier one decides, unless it is long in coming. */
	return sum > most + (costlier ? most / 4 : 0);
}

/* A probe of the session is disabled: what it took in this window stays the session's. */
static void kpl_rests(const struct kpl_load *load, const struct kpl_origin *origin, u64 ns)
{
	struct kpl_session_cpu *cpu = this_cpu_ptr(origin->cpu);

	if (cpu->rested_in != load->began)
		cpu->rested = 0;
	cpu->rested_in = load->began;
	cpu->rested += ns;
}

/* Whether that is so much that the session runs nothing more in this window. */
static bool kpl_share_rests(const struct kpl_load *load, const struct kpl_origin *origin, u64 now)
{
	const struct kpl_session_cpu *cpu = this_cpu_ptr(origin->cpu);
	u64 most = kpl_share_ns(READ_ONCE(origin->session->share));

	return load->exact && cpu->rested_in == load->began && now - load->began < KPL_WINDOW &&
	       cpu->rested > most + most / 4;
}

static void kpl_overload(struct kpl_origin *origin, struct kpl_load *load, struct kpl_spender *mine,
			 u64 now)
{
	u32 none = 0;

	if (try_cmpxchg(&origin->overload, &none, KPL_OVERLOAD_SEEN)) {
		origin->overload_cpu = smp_processor_id();
		origin->overload_percent = div64_u64(mine->ns * 100, max(now - load->began, 1ull));
		WRITE_ONCE(origin->live, &kpl_lifeless);
		/* User space reads what stands above. */
		smp_store_release(&origin->overload, KPL_OVERLOAD_TOLD);
		atomic_inc_return_release(&origin->session->overloads);
		kpl_session_wake(origin->session);
	}
	kpl_rests(load, origin, mine->ns);
	load->spent -= min(load->spent, mine->ns);
	memset(mine, 0, sizeof(*mine));
}

static void kpl_spend(struct kpl_load *load, struct kpl_origin *origin, u64 ns, u32 weight,
		      u64 now)
{
	u32 share = READ_ONCE(origin->session->share);
	/* Who has no bound ends no measuring that the smallest share may need. */
	u64 most = kpl_share_ns(share == KPL_SHARE_OFF ? 1 : share);
	struct kpl_spender *mine;

	if (now - load->began >= KPL_WINDOW)
		kpl_window_start(load, now, load->exact && load->spent > most / 4);
	if (share == KPL_SHARE_OFF)
		return;
	load->spent += ns * weight;
	if (!load->exact) {
		if (load->spent > most / 2)
			kpl_window_start(load, now, true);
		return;
	}
	mine = kpl_spender_of(load, origin->serial);
	mine->ns += ns;
	mine->share = share;
	if (load->spent > most && kpl_is_too_much(load, mine))
		kpl_overload(origin, load, mine, now);
}

/* Runs a handler and puts what it takes to the probe's account; its r0. */
static u64 kpl_run_account(struct kpl_load *load, const struct kpl_handler *handler,
			   struct kpl_hit *hit, u32 weight)
{
	u64 began = ktime_get_mono_fast_ns(), now, ns, result;

	if (unlikely(kpl_share_rests(load, handler->origin, began)))
		return KPL_RET_STOP(KPL_STOP_SHARE, 0);
	result = kpl_handler_call(handler, hit);
	now = ktime_get_mono_fast_ns();
	ns = now > began ? now - began : 0;
	kpl_spend(load, handler->origin, ns, weight, now);
	WRITE_ONCE(load->every, load->exact || ns >= KPL_LONG ? 1 :
		   min_t(u32, 2 * READ_ONCE(load->every) ?: 1, KPL_TIMED_EVERY));
	return result;
}

/* Whose hits they are, by those that are timed. */
static void kpl_count_own(struct kpl_session *s, u32 weight)
{
	struct kpl_session_cpu *cpu = this_cpu_ptr(s->cpu);

	cpu->hits += weight;
	if (kpl_is_opener(s))
		cpu->own_hits += weight;
}

noinline u64 kpl_run_timed(struct kpl_hit *hit, const struct kpl_handler *handler)
{
	struct kpl_load *load = this_cpu_ptr(&kpl_load);
	u32 weight = load->weight ?: 1, every;
	u64 result = kpl_run_account(load, handler, hit, weight);

	kpl_count_own(handler->origin->session, weight);
	every = READ_ONCE(load->every);
	load->random = load->random * 1664525 + 1013904223;
	load->weight = every / 2 + 1 + (load->random >> 16 & (every - 1));
	kpl_ctx_of((unsigned long)hit)->until = load->weight - 1;
	return result;
}

u64 kpl_run_fault(struct kpl_hit *hit, const struct kpl_handler *handler)
{
	return kpl_run_account(this_cpu_ptr(&kpl_load), handler, hit, 1);
}

/* --------------------------------------------------------------- process context */

/* A hit may be inside the scheduler, which wakes the worker: only an interrupt may. */
void kpl_overload_woken(struct kpl_session *s)
{
	if (atomic_read(&s->overloads) != READ_ONCE(s->overloads_done))
		queue_delayed_work(kpl_waiters, &s->overloaded, 0);
}

void kpl_overload_forgive(struct kpl_origin *origin)
{
	if (!READ_ONCE(origin->overload))
		return;
	WRITE_ONCE(origin->overload, KPL_OVERLOAD_NONE);
	/* Who takes away what this gives sees that it was not told. */
	smp_store_release(&origin->live, &origin->session->live);
}

void kpl_overload_watch(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu) {
		WRITE_ONCE(per_cpu(kpl_load, cpu).every, 1);
		WRITE_ONCE(per_cpu(kpl_ctx, cpu).until, 0);
	}
}

int kpl_share(struct kpl_session *s, struct kpl_share *arg)
{
	int err = kpl_check_share(arg);

	if (!err)
		WRITE_ONCE(s->share, arg->percent);
	return err;
}
