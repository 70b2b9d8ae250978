// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The calls' arguments, by themselves. */
#include <linux/perf_event.h>	/* PERF_COUNT_* */

#include "args.h"

static int check_steps(const struct kpl_map_create *arg)
{
	u64 steps;

	if (arg->kind == KPL_MAP_HASH || kpl_agg_descs[arg->kind].slots != KPL_SLOTS_STEPS)
		return arg->lo || arg->hi || arg->step ? -EINVAL : 0;
	if (arg->step <= 0 || arg->hi <= arg->lo)
		return -EINVAL;
	steps = ((u64)arg->hi - (u64)arg->lo) / (u64)arg->step;
	if (!steps)
		return -EINVAL;
	return steps <= KPL_MAX_HIST_SLOTS - 2 ? 0 : -E2BIG;
}

int kpl_check_map_create(const struct kpl_map_create *arg)
{
	int hash = arg->kind == KPL_MAP_HASH;

	if (arg->kind >= KPL_MAP_KINDS || arg->key_size % 8 || arg->value_size % 8)
		return -EINVAL;
	if (hash ? !arg->key_size || !arg->value_size : arg->value_size)
		return -EINVAL;
	if (arg->key_string > arg->key_size / 8 || arg->reserved)
		return -EINVAL;
	if (arg->key_size > KPL_MAX_KEY || arg->value_size > KPL_MAX_VALUE ||
	    arg->max_entries > KPL_MAX_ENTRIES)
		return -E2BIG;
	return check_steps(arg);
}

int kpl_check_map_clear(const struct kpl_map_clear *arg)
{
	return arg->reserved ? -EINVAL : 0;
}

int kpl_check_map_op(const struct kpl_map_op *arg)
{
	return arg->op > KPL_MAP_NEXT || (arg->op != KPL_MAP_NEXT && arg->cursor) ? -EINVAL : 0;
}

int kpl_check_prog_load(const struct kpl_prog_load *arg)
{
	if (arg->flags & ~(KPL_PROG_F_INTERPRET | KPL_PROG_F_PLACES) || arg->reserved)
		return -EINVAL;
	if (arg->kind >= KPL_PROG_KINDS)
		return -EINVAL;
	if (arg->nr_insns > KPL_MAX_INSNS || arg->nr_labels > KPL_MAX_LABELS ||
	    arg->scratch_size > KPL_MAX_SCRATCH || arg->data_size > KPL_MAX_DATA ||
	    arg->budget > KPL_MAX_BUDGET)
		return -E2BIG;
	return arg->nr_insns ? 0 : -EINVAL;
}

int kpl_check_prog_run(const struct kpl_prog_run *arg, u32 regs_size)
{
	return arg->repeat > KPL_MAX_REPEAT || arg->regs_size > regs_size ||
	       arg->data_size > KPL_MAX_DATA ? -EINVAL : 0;
}

int kpl_check_prog_native(const struct kpl_prog_native *arg)
{
	return arg->reserved ? -EINVAL : 0;
}

static int check_ring_size(u32 size, u64 least)
{
	if (size < least || size & (size - 1))
		return -EINVAL;
	return size > KPL_MAX_RING ? -E2BIG : 0;
}

int kpl_check_ring_setup(const struct kpl_ring_setup *arg, u32 page_size)
{
	return check_ring_size(arg->size, page_size);
}

int kpl_check_ring_spare(const struct kpl_ring_spare *arg, u32 first_size)
{
	return arg->reserved ? -EINVAL : check_ring_size(arg->size, first_size + 1ull);
}

int kpl_check_ring_offer(const struct kpl_ring_offer *arg)
{
	return arg->reserved ? -EINVAL : 0;
}

static int check_number(u32 nr)
{
	if (!nr)
		return -EINVAL;
	return nr > KPL_MAX_PROBES ? -E2BIG : 0;
}

int kpl_check_attach_batch(const struct kpl_attach_batch *arg)
{
	return check_number(arg->nr);
}

int kpl_is_clock(u32 event, u64 config)
{
	if (event == KPL_EVENT_SOFTWARE)
		return config == PERF_COUNT_SW_CPU_CLOCK || config == PERF_COUNT_SW_TASK_CLOCK;
	return event == KPL_EVENT_PROFILE || event == KPL_EVENT_INTERVAL;
}

/* A period is nanoseconds, hits, or hits a second. */
static int check_event(const struct kpl_attach *arg)
{
	static const struct {
		u64 configs;	/* addr is below it */
		u64 most;	/* of period */
	} events[KPL_EVENTS] = {
		[KPL_EVENT_PROFILE] = { 1, KPL_MAX_HZ },
		[KPL_EVENT_INTERVAL] = { 1, S64_MAX },
		[KPL_EVENT_SOFTWARE] = { PERF_COUNT_SW_MAX, S64_MAX },
		[KPL_EVENT_HARDWARE] = { PERF_COUNT_HW_MAX, S64_MAX },
	};
	u64 least = 1;

	if (arg->event >= KPL_EVENTS || arg->addr >= events[arg->event].configs)
		return -EINVAL;
	if (arg->event != KPL_EVENT_PROFILE && kpl_is_clock(arg->event, arg->addr))
		least = KPL_MIN_INTERVAL;
	return arg->period < least || arg->period > events[arg->event].most ? -EINVAL : 0;
}

/* What the processor's breakpoints can watch. */
static int check_watch(const struct kpl_attach *arg)
{
	if (arg->event != KPL_EVENT_WRITE && arg->event != KPL_EVENT_ACCESS)
		return -EINVAL;
	if (arg->len != 1 && arg->len != 2 && arg->len != 4 && arg->len != 8)
		return -EINVAL;
	return arg->addr % arg->len ? -EINVAL : 0;
}

int kpl_check_attach(const struct kpl_attach *arg, const struct kpl_attach_rules *rules)
{
	if (arg->when.mask & ~KPL_WHEN_ALL)
		return -EINVAL;
	if (arg->flags & ~(KPL_ATTACH_F_ALL | rules->flags))
		return -EINVAL;
	if (arg->maxactive > rules->maxactive)
		return rules->maxactive ? -E2BIG : -EINVAL;
	if ((arg->stack_args && rules->takes != KPL_TAKES_STACK_ARGS) ||
	    (arg->period && rules->takes != KPL_TAKES_EVENT) ||
	    (arg->event && rules->takes != KPL_TAKES_EVENT && rules->takes != KPL_TAKES_WATCH) ||
	    (arg->len && rules->takes != KPL_TAKES_WATCH) ||
	    ((arg->semaphore || arg->fd) && rules->takes != KPL_TAKES_FILE))
		return -EINVAL;
	if (rules->takes == KPL_TAKES_EVENT)
		return check_event(arg);
	if (rules->takes == KPL_TAKES_WATCH)
		return check_watch(arg);
	/* Offsets in a file. */
	return rules->takes == KPL_TAKES_FILE && (arg->addr | arg->semaphore) >> 63 ? -EINVAL : 0;
}

int kpl_check_control(const struct kpl_control *arg)
{
	return arg->op > KPL_CTL_DETACH ? -EINVAL : check_number(arg->nr);
}

int kpl_check_stats(const struct kpl_stats *arg)
{
	if (arg->reserved)
		return -EINVAL;
	return arg->nr ? check_number(arg->nr) : 0;
}

int kpl_check_free(const struct kpl_free *arg)
{
	return arg->kind > KPL_FREE_PROG ? -EINVAL : 0;
}

int kpl_check_pid(const struct kpl_pid *arg)
{
	return arg->reserved ? -EINVAL : 0;
}

int kpl_check_rights(const struct kpl_rights *arg)
{
	return arg->reserved || arg->rights & ~KPL_RIGHT_ALL ? -EINVAL : 0;
}

int kpl_check_share(const struct kpl_share *arg)
{
	return arg->reserved || !arg->percent || arg->percent > KPL_SHARE_OFF ? -EINVAL : 0;
}

int kpl_check_title(const struct kpl_title *arg)
{
	return arg->reserved || arg->dead_man > KPL_MAX_DEAD_MAN ||
	       !memchr(arg->name, 0, KPL_TITLE_SIZE) ? -EINVAL : 0;
}

int kpl_check_bench(const struct kpl_bench *arg)
{
	if (arg->function >= KPL_BENCH_FUNCTIONS || !arg->calls)
		return -EINVAL;
	return arg->calls > KPL_MAX_BENCH ? -E2BIG : 0;
}
