// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The calls' arguments, by themselves. */
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

int kpl_check_attach(const struct kpl_attach *arg, const struct kpl_attach_rules *rules)
{
	if (arg->when.mask & ~KPL_WHEN_ALL)
		return -EINVAL;
	if (arg->flags & ~(KPL_ATTACH_F_ALL | rules->flags))
		return -EINVAL;
	if (arg->stack_args && !rules->stack_args)
		return -EINVAL;
	if (arg->maxactive > rules->maxactive)
		return rules->maxactive ? -E2BIG : -EINVAL;
	if (!rules->takes_event && (arg->period || arg->event || arg->len))
		return -EINVAL;
	return !rules->takes_file && (arg->semaphore || arg->fd) ? -EINVAL : 0;
}

int kpl_check_control(const struct kpl_control *arg)
{
	return arg->op > KPL_CTL_DETACH ? -EINVAL : check_number(arg->nr);
}

int kpl_check_stats(const struct kpl_stats *arg)
{
	return arg->reserved ? -EINVAL : 0;
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
