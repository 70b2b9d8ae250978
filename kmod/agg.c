// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Aggregations: each CPU has cells of its own, so an update takes no lock and
 * no atomic operation; the reader merges what it sees in its mapping.
 *
 * Cells are handed out one after the other; the index that finds the cell of
 * a key is the kernel's alone.  There are two banks: a clear empties the idle
 * one, lets all CPUs go on with it, and leaves the other to the reader.
 */
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "agg.h"
#include "core/agg.h"
#include "guard.h"
#include "words.h"

#define KPL_MAX_STEPS	48	/* of a search in the index, which is at most a quarter full */

/* ------------------------------------------------------------------- update */

/* A key on its way to its cell. */
struct kpl_agg_key {
	const u64 *words;
	u32 nr;		/* that tell it from others */
	u64 hash;
};

static __always_inline struct kpl_agg_cell *kpl_cell(const struct kpl_agg *agg,
						     const struct kpl_agg_view *view, u32 nr)
{
	return (void *)(view->bank + 1) + (u64)nr * agg->cell_size;
}

static noinline struct kpl_agg_cell *kpl_cell_new(const struct kpl_agg *agg,
						  const struct kpl_agg_view *view, u64 *slot,
						  const struct kpl_agg_key *key)
{
	u64 used = view->bank->used;
	struct kpl_agg_cell *cell;

	if (used == agg->shape.max_entries) {
		view->bank->lost++;
		return NULL;
	}
	cell = kpl_cell(agg, view, used);
	kpl_key_copy(&agg->shape, (u64 *)(cell + 1), key->words, key->nr);
	*slot = (key->hash >> 32) << 32 | (used + 1);
	/* The reader sees the key of each cell that it takes for used. */
	smp_store_release(&cell->hash, (u32)(key->hash >> 32));
	/* Nor does it look at a cell before. */
	smp_store_release(&view->bank->used, used + 1);
	return cell;
}

/* The cell that a slot of the index leads to; NULL: it is another key's. */
static __always_inline struct kpl_agg_cell *kpl_cell_at(const struct kpl_agg *agg,
							const struct kpl_agg_view *view, u64 slot,
							const struct kpl_agg_key *key)
{
	struct kpl_agg_cell *cell;

	if (slot >> 32 != key->hash >> 32)
		return NULL;
	cell = kpl_cell(agg, view, (u32)slot - 1);
	return kpl_key_equal((u64 *)(cell + 1), key->words, key->nr) ? cell : NULL;
}

/* The cell of a key, made if there is none; NULL when there is no room. */
static noinline struct kpl_agg_cell *kpl_cell_of(const struct kpl_agg *agg,
						 const struct kpl_agg_view *view,
						 const struct kpl_agg_key *key)
{
	u32 mask = agg->index_size - 1;
	u32 at = key->hash & mask, steps;

	for (steps = 0; steps < KPL_MAX_STEPS; steps++, at = (at + 1) & mask) {
		u64 slot = view->index[at];
		struct kpl_agg_cell *cell;

		if (!slot)
			return kpl_cell_new(agg, view, &view->index[at], key);
		cell = kpl_cell_at(agg, view, slot, key);
		if (cell)
			return cell;
	}
	view->bank->lost++;
	return NULL;
}

/* Values of several words: the sequence count tells the reader what to trust. */
static noinline void kpl_update_wide(const struct kpl_agg *agg, u64 *value, s64 n)
{
	struct kpl_agg_cell *cell = (void *)value - agg->shape.key_size - sizeof(*cell);

	WRITE_ONCE(cell->seq, cell->seq + 1);
	smp_wmb();	/* odd before the first change */
	kpl_agg_words_add(agg->holds, value, n);
	smp_wmb();	/* even after the last */
	WRITE_ONCE(cell->seq, cell->seq + 1);
}

/* `value` is that of a cell, found or the only one. */
static __always_inline u64 kpl_update(const struct kpl_agg *agg, u64 *value, u64 n)
{
	switch (agg->update) {
	case KPL_UPDATE_ADD:
		*value += n;
		break;
	case KPL_UPDATE_POWERS:
		value[kpl_hist_slot(n)]++;
		break;
	case KPL_UPDATE_STEPS:
		value[kpl_lhist_slot(agg->lo, agg->step, agg->shape.value_size / 8, n)]++;
		break;
	case KPL_UPDATE_WORDS:
		kpl_update_wide(agg, value, n);
		break;
	}
	return 1;
}

/* Most keys are there, and where their hash says. */
static __always_inline u64 kpl_add_keyed(const struct kpl_agg *agg, const u64 *words, u32 nr, u64 n)
{
	const struct kpl_agg_view *view = this_cpu_read(agg->cpu->now);
	const struct kpl_agg_key key = {
		.words = words, .nr = nr, .hash = kpl_key_hash(&agg->shape, words, nr),
	};
	u64 slot = view->index[key.hash & (agg->index_size - 1)];
	struct kpl_agg_cell *cell = kpl_cell_at(agg, view, slot, &key);

	if (unlikely(!cell))
		cell = kpl_cell_of(agg, view, &key);
	return likely(cell) ? kpl_update(agg, (void *)(cell + 1) + agg->shape.key_size, n) : 0;
}

u64 kpl_h_agg_add(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;

	if (agg->shape.key_size)
		return kpl_add_keyed(agg, (const u64 *)r3,
				     kpl_key_words(&agg->shape, (const u64 *)r3), r4);
	return kpl_update(agg, this_cpu_read(agg->cpu->value), r4);
}

/*
 * The same for maps of one kind: what agg_add would find out at each hit is
 * known when a program is loaded.
 */
u64 kpl_h_add_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;

	*this_cpu_read(agg->cpu->value) += r4;
	return 1;
}

u64 kpl_h_add_hist(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;

	this_cpu_read(agg->cpu->value)[kpl_hist_slot(r4)]++;
	return 1;
}

/* The key is a number. */
u64 kpl_h_add_at_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return kpl_add_keyed((const struct kpl_agg *)r2, (const u64 *)r3, 1, r4);
}

/* A string of at most 16 bytes, such as a command's name. */
u64 kpl_h_add_at_name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const u64 *key = (const u64 *)r3;
	u32 len = key[0];
	const u64 name[] = { key[0], len ? key[1] : 0, len > 8 ? key[2] : 0 };

	return kpl_add_keyed((const struct kpl_agg *)r2, name, ARRAY_SIZE(name), r4);
}

s32 kpl_agg_helper(const struct kpl_agg *agg)
{
	if (agg->shape.key_size == 8)
		return KPL_H_ADD_AT_NUMBER;
	if (agg->shape.key_size == KPL_STR_SIZE(16) && agg->shape.key_string == 1)
		return KPL_H_ADD_AT_NAME;
	if (agg->shape.key_size)
		return KPL_H_agg_add;
	if (agg->update == KPL_UPDATE_ADD)
		return KPL_H_ADD_NUMBER;
	if (agg->update == KPL_UPDATE_POWERS)
		return KPL_H_ADD_HIST;
	return KPL_H_agg_add;
}

/* ------------------------------------------------------------------- memory */

static struct kpl_area_plan kpl_agg_plan(const struct kpl_agg *agg)
{
	u32 cpu_pages = agg->bank_size * KPL_BANKS / PAGE_SIZE;

	return (struct kpl_area_plan) {
		.pages = cpu_pages * nr_cpu_ids,
		.twice_from = cpu_pages * nr_cpu_ids,
		.cpu_pages = cpu_pages,
	};
}

u64 kpl_agg_memory(struct kpl_agg *agg)
{
	u64 nr_cells = agg->shape.key_size ? agg->shape.max_entries : 1, pages;
	struct kpl_area_plan plan;

	agg->cell_size = sizeof(struct kpl_agg_cell) + agg->shape.key_size + agg->shape.value_size;
	agg->bank_size = sizeof(struct kpl_agg_bank) + nr_cells * agg->cell_size;
	/* A CPU's banks fill whole pages, which no other CPU writes. */
	agg->bank_size = ALIGN(agg->bank_size, PAGE_SIZE / KPL_BANKS);
	pages = agg->bank_size * KPL_BANKS / PAGE_SIZE * nr_cpu_ids;
	if (pages * PAGE_SIZE > KPL_MAP_STRIDE)
		return U64_MAX;
	if (agg->shape.key_size)
		agg->index_size = roundup_pow_of_two(4 * max(agg->shape.max_entries, 4u));
	plan = kpl_agg_plan(agg);
	return kpl_area_memory(&plan) +
	       (u64)agg->index_size * sizeof(u64) * KPL_BANKS * nr_cpu_ids;
}

static void kpl_bank_empty(const struct kpl_agg *agg, const struct kpl_agg_view *view, u64 epoch)
{
	memset(view->bank, 0, agg->bank_size);
	view->bank->epoch = epoch;
	if (agg->shape.key_size) {
		memset(view->index, 0, agg->index_size * sizeof(u64));
		return;
	}
	view->bank->used = 1;
	((struct kpl_agg_cell *)(view->bank + 1))->hash = 1;
}

/* From now on the CPU updates this bank. */
static void kpl_agg_go(const struct kpl_agg *agg, struct kpl_agg_cpu *c, u32 bank)
{
	struct kpl_agg_view *view = &c->view[bank];
	struct kpl_agg_cell *first = (void *)(view->bank + 1);

	/* The CPU finds the bank empty, ... */
	smp_store_release(&c->value, (u64 *)(first + 1));
	/* ... by either pointer. */
	smp_store_release(&c->now, view);
}

static void kpl_agg_views(struct kpl_agg *agg)
{
	u32 cpu, bank;

	for_each_possible_cpu(cpu) {
		struct kpl_agg_cpu *c = per_cpu_ptr(agg->cpu, cpu);

		for (bank = 0; bank < KPL_BANKS; bank++) {
			u64 nr = (u64)cpu * KPL_BANKS + bank;

			c->view[bank].bank = agg->area.addr + nr * agg->bank_size;
			c->view[bank].index = agg->index + nr * agg->index_size;
			kpl_bank_empty(agg, &c->view[bank], 0);
		}
		kpl_agg_go(agg, c, 0);
	}
}

int kpl_agg_alloc(struct kpl_agg *agg)
{
	struct kpl_area_plan plan = kpl_agg_plan(agg);
	int err = kpl_area_alloc(&agg->area, &plan);

	if (err)
		return err;
	agg->cpu = alloc_percpu_gfp(struct kpl_agg_cpu, KPL_GFP_PERCPU);
	agg->index = __vmalloc(max_t(u64, 1, agg->index_size) * KPL_BANKS * nr_cpu_ids *
			       sizeof(u64), KPL_GFP | __GFP_ZERO);
	if (!agg->cpu || !agg->index)
		return -ENOMEM;
	kpl_agg_views(agg);
	return 0;
}

void kpl_agg_free(struct kpl_agg *agg)
{
	kpl_area_free(&agg->area);
	free_percpu(agg->cpu);
	vfree(agg->index);
}

void kpl_agg_clear(struct kpl_agg *agg)
{
	u32 next = !agg->active, cpu;

	agg->epoch++;
	for_each_possible_cpu(cpu) {
		struct kpl_agg_cpu *c = per_cpu_ptr(agg->cpu, cpu);

		kpl_bank_empty(agg, &c->view[next], agg->epoch);
		/* An interrupted update of the old bank ends before the grace period does. */
		kpl_agg_go(agg, c, next);
		cond_resched();
	}
	kpl_hits_drain();
	agg->active = next;
}
