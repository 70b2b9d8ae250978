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
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "agg.h"
#include "core/agg.h"
#include "guard.h"
#include "words.h"

#define KPL_MAX_STEPS	32	/* of a search in the index, which is at most a quarter full */

/* ------------------------------------------------------------------- update */

/*
 * What the index has of a cell: the upper half of its key's hash, and where in
 * the bank it lies, in words.
 */
static __always_inline u64 kpl_index_slot(u64 hash, u64 at)
{
	return (hash >> 32) << 32 | at / sizeof(u64);
}

/* Whether a slot may lead to the cell of the key; else it is another key's, or none's. */
static __always_inline bool kpl_slot_fits(u64 slot, u64 hash)
{
	return slot >> 32 == hash >> 32;
}

static __always_inline struct kpl_agg_cell *kpl_cell_at(const struct kpl_agg_view *view, u64 slot)
{
	return (void *)((u64 *)view->bank + (u32)slot);
}

static struct kpl_agg_cell *kpl_cell_new(const struct kpl_agg *agg, const struct kpl_agg_view *view,
					 u64 *slot, const u64 *key, u32 words, u64 hash)
{
	u64 used = view->bank->used, at = sizeof(*view->bank) + used * agg->cell_size;
	struct kpl_agg_cell *cell;

	if (used == agg->shape.max_entries) {
		view->bank->lost++;
		return NULL;
	}
	cell = (void *)view->bank + at;
	kpl_key_copy(&agg->shape, (u64 *)(cell + 1), key, words);
	*slot = kpl_index_slot(hash, at);
	/* The reader sees the key of each cell that it takes for used. */
	smp_store_release(&cell->hash, (u32)(hash >> 32));
	/* Nor does it look at a cell before. */
	smp_store_release(&view->bank->used, used + 1);
	return cell;
}

/* The cell of a key, made if there is none; NULL when there is no room. */
static struct kpl_agg_cell *kpl_cell_of(const struct kpl_agg *agg, const struct kpl_agg_view *view,
					const u64 *key)
{
	u32 words = kpl_key_words(&agg->shape, key);
	u64 hash = kpl_key_hash(&agg->shape, key, words);
	u32 at = hash & agg->index_mask, steps;

	for (steps = 0; steps < KPL_MAX_STEPS; steps++, at = (at + 1) & agg->index_mask) {
		u64 slot = view->index[at];
		struct kpl_agg_cell *cell;

		if (!slot)
			return kpl_cell_new(agg, view, &view->index[at], key, words, hash);
		if (!kpl_slot_fits(slot, hash))
			continue;
		cell = kpl_cell_at(view, slot);
		if (kpl_key_equal((u64 *)(cell + 1), key, words))
			return cell;
		break;		/* alike: shape.h */
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

/*
 * Wherever the key is, and whatever is added to.  Helpers go on here with the
 * arguments in the registers that they came in.
 */
static noinline __noclone u64 kpl_add_searched(u64 hit, const struct kpl_agg *agg,
					       const u64 *key, u64 n)
{
	struct kpl_agg_cell *cell = kpl_cell_of(agg, this_cpu_read(agg->cpu->now), key);

	return cell ? kpl_update(agg, (void *)(cell + 1) + agg->shape.key_size, n) : 0;
}

/*
 * To the only word of a key's value.  Most keys are there, and where their hash
 * says: what is left to the other function has nothing of this one's to keep.
 */
static __always_inline u64 kpl_add_keyed(u64 hit, const struct kpl_agg *agg, const u64 *key,
					 u32 words, u64 hash, u32 size, u64 n)
{
	const struct kpl_agg_view *view = this_cpu_read(agg->cpu->now);
	u64 slot = view->index[hash & agg->index_mask];
	struct kpl_agg_cell *cell = kpl_cell_at(view, slot);

	if (unlikely(!kpl_slot_fits(slot, hash) ||
		     !kpl_key_equal((u64 *)(cell + 1), key, words)))
		return kpl_add_searched(hit, agg, key, n);
	*(u64 *)((void *)(cell + 1) + size) += n;
	return 1;
}

#define KPL_KEY_WORDS_TWICE	32

static noinline __noclone u64 kpl_add_at_words(u64 hit, const struct kpl_agg *agg,
					       const u64 *key, u64 n)
{
	u32 words = kpl_key_words(&agg->shape, key);

	/* To hash a longer one twice takes more than what a call is said to cost. */
	if (words > KPL_KEY_WORDS_TWICE)
		return kpl_add_searched(hit, agg, key, n);
	return kpl_add_keyed(hit, agg, key, words, kpl_key_hash(&agg->shape, key, words),
			     agg->shape.key_size, n);
}

u64 kpl_h_agg_add(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;
	const u64 *key = (const u64 *)r3;

	kpl_acts(r1);
	if (!agg->shape.key_size)
		return kpl_update(agg, this_cpu_read(agg->cpu->value), r4);
	if (agg->update != KPL_UPDATE_ADD)
		return kpl_add_searched(r1, agg, key, r4);
	return kpl_add_at_words(r1, agg, key, r4);
}

/*
 * The same for maps of one kind: what agg_add would find out at each hit is
 * known when a program is loaded.
 */
u64 kpl_h_add_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;

	kpl_acts(r1);
	*this_cpu_read(agg->cpu->value) += r4;
	return 1;
}

u64 kpl_h_add_hist(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;

	kpl_acts(r1);
	this_cpu_read(agg->cpu->value)[kpl_hist_slot(r4)]++;
	return 1;
}

/* The key is a number. */
u64 kpl_h_add_at_number(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;
	const u64 *key = (const u64 *)r3;

	kpl_acts(r1);
	return kpl_add_keyed(r1, agg, key, 1,
			     kpl_hash_end(kpl_hash_step(agg->shape.seed, key[0])),
			     sizeof(*key), r4);
}

/* The key is a string: of short ones, one word is looked at. */
u64 kpl_h_add_at_string(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;
	const u64 *key = (const u64 *)r3;
	u32 len = key[0];

	kpl_acts(r1);
	if (unlikely(len - 1 > 7))
		return kpl_add_at_words(r1, agg, key, r4);
	return kpl_add_keyed(r1, agg, key, 2,
			     kpl_hash_end(kpl_hash_string(agg->shape.seed, key[0], key[1])),
			     agg->shape.key_size, r4);
}

/* The name is not where its hash says, or what is added to is no number. */
static noinline __noclone u64 kpl_add_comm_searched(u64 hit, const struct kpl_agg *agg, u64 n,
						    u64 len, u64 first, u64 second)
{
	const u64 key[] = { len, first, second };

	static_assert(sizeof(key) == KPL_STR_SIZE(KPL_COMM));
	return kpl_add_searched(hit, agg, key, n);
}

/* The name is compared where it lies.  `second`: of its words; 0: it has but one. */
static __always_inline u64 kpl_add_comm(u64 hit, const struct kpl_agg *agg, u64 len, u64 first,
					u64 second, u64 n)
{
	u64 step = kpl_hash_string(agg->shape.seed, len, first);
	u64 hash = kpl_hash_end(second ? kpl_hash_step(step, second) : step);
	const struct kpl_agg_view *view = this_cpu_read(agg->cpu->now);
	u64 slot = view->index[hash & agg->index_mask];
	struct kpl_agg_cell *cell = kpl_cell_at(view, slot);
	u64 *key = (u64 *)(cell + 1);

	if (unlikely(!kpl_slot_fits(slot, hash) || agg->update != KPL_UPDATE_ADD ||
		     key[0] != len || key[1] != first || (second && key[2] != second)))
		return kpl_add_comm_searched(hit, agg, n, len, first, second);
	*(u64 *)((void *)key + KPL_STR_SIZE(KPL_COMM)) += n;
	return 1;
}

static noinline __noclone u64 kpl_add_long_comm(u64 hit, const struct kpl_agg *agg, u64 n,
						u64 first)
{
	u64 second = READ_ONCE(((const u64 *)current->comm)[1]) & KPL_COMM_END;
	u64 bits = kpl_zero_bits(second);

	second = kpl_before(second, bits);
	return kpl_add_comm(hit, agg, 8 + kpl_bytes_before(bits), first, second, n);
}

u64 kpl_h_agg_add_comm(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_agg *agg = (const struct kpl_agg *)r2;
	u64 name = READ_ONCE(*(const u64 *)current->comm), bits = kpl_zero_bits(name);

	kpl_acts(r1);
	if (!bits)
		return kpl_add_long_comm(r1, agg, r3, name);
	return kpl_add_comm(r1, agg, kpl_bytes_before(bits), kpl_before(name, bits), 0, r3);
}

s32 kpl_agg_helper(const struct kpl_agg *agg)
{
	if (agg->update == KPL_UPDATE_POWERS && !agg->shape.key_size)
		return KPL_H_ADD_HIST;
	if (agg->update != KPL_UPDATE_ADD)
		return KPL_H_agg_add;
	if (!agg->shape.key_size)
		return KPL_H_ADD_NUMBER;
	if (agg->shape.key_string == 1 && agg->shape.key_size > sizeof(struct kpl_str))
		return KPL_H_ADD_AT_STRING;
	if (!agg->shape.key_string && agg->shape.key_size == sizeof(u64))
		return KPL_H_ADD_AT_NUMBER;
	return KPL_H_agg_add;
}

/* ------------------------------------------------------------------- memory */

static u64 kpl_index_memory(const struct kpl_agg *agg)
{
	return (u64)agg->index_size * sizeof(u64) * KPL_BANKS;
}

static struct kpl_area_plan kpl_agg_plan(const struct kpl_agg *agg)
{
	u32 pages = agg->bank_size * KPL_BANKS / PAGE_SIZE;

	return (struct kpl_area_plan) { .pages = pages, .twice_from = pages };
}

u64 kpl_agg_memory(struct kpl_agg *agg)
{
	u64 nr_cells = agg->shape.key_size ? agg->shape.max_entries : 1;
	struct kpl_area_plan plan;

	agg->cell_size = sizeof(struct kpl_agg_cell) + agg->shape.key_size + agg->shape.value_size;
	agg->bank_size = sizeof(struct kpl_agg_bank) + nr_cells * agg->cell_size;
	/* A CPU's banks fill whole pages, which no other CPU writes. */
	agg->bank_size = ALIGN(agg->bank_size, PAGE_SIZE / KPL_BANKS);
	if (agg->bank_size * KPL_BANKS * nr_cpu_ids > KPL_MAP_STRIDE)
		return U64_MAX;
	if (agg->shape.key_size)
		agg->index_size = roundup_pow_of_two(4 * max(agg->shape.max_entries, 4u));
	agg->index_mask = agg->index_size - 1;
	plan = kpl_agg_plan(agg);
	agg->grower.each = kpl_area_memory(&plan) + kpl_index_memory(agg);
	return kpl_areas_memory();
}

u64 kpl_agg_rest(const struct kpl_agg *agg)
{
	return (u64)num_possible_cpus() * sizeof(struct kpl_agg_cpu) +
	       (agg->shape.key_size ? 0 : agg->cell_size);
}

static void kpl_memory_empty(void *at, u64 size)
{
	u64 part;

	for (; size; at += part, size -= part) {
		part = min_t(u64, size, SZ_1M);
		memset(at, 0, part);
		cond_resched_tasks_rcu_qs();
	}
}

static void kpl_bank_empty(const struct kpl_agg *agg, const struct kpl_agg_view *view, u64 epoch)
{
	kpl_memory_empty(view->bank, agg->bank_size);
	view->bank->epoch = epoch;
	if (agg->shape.key_size) {
		kpl_memory_empty(view->index, (u64)agg->index_size * sizeof(u64));
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

/* The CPU has memory now: `area` and `index` are those of all its banks. */
static void kpl_agg_give(struct kpl_agg *agg, u32 cpu, void *area, u64 *index)
{
	struct kpl_agg_cpu *c = per_cpu_ptr(agg->cpu, cpu);
	u32 bank;

	/* A clear has all CPUs go on with the other bank. */
	mutex_lock(&agg->areas->lock);
	for (bank = 0; bank < KPL_BANKS; bank++) {
		c->view[bank].bank = area + bank * agg->bank_size;
		c->view[bank].index = index + bank * agg->index_size;
		kpl_bank_empty(agg, &c->view[bank], agg->epoch);
	}
	kpl_agg_go(agg, c, agg->next);
	mutex_unlock(&agg->areas->lock);
}

static int kpl_agg_make(struct kpl_grower *g, u32 cpu)
{
	struct kpl_agg *agg = container_of(g, struct kpl_agg, grower);
	struct kpl_area area;
	u64 *index = NULL;
	int err;

	err = kpl_area_alloc(&area, &agg->areas->plan, cpu);
	if (err)
		return err;
	if (agg->index_size) {
		index = __vmalloc(kpl_index_memory(agg), kpl_area_gfp(cpu) | __GFP_ZERO);
		if (!index) {
			kpl_area_free(&area);
			return -ENOMEM;
		}
	}
	kpl_agg_give(agg, cpu, area.addr, index);
	kpl_areas_set(agg->areas, cpu, &area);
	return 0;
}

/*
 * A CPU without memory finds no key, and a bank that is full; or it shares a
 * cell, which nobody reads, with others like it.
 */
static int kpl_agg_without(struct kpl_agg *agg)
{
	u32 cpu;

	if (agg->shape.key_size)
		agg->no_index = kpl_zeros_map((u64)agg->index_size * sizeof(u64));
	else
		agg->no_cell = kzalloc(agg->cell_size, KPL_GFP);
	if (!agg->no_index && !agg->no_cell)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct kpl_agg_cpu *c = per_cpu_ptr(agg->cpu, cpu);

		c->no_bank.used = agg->shape.max_entries;
		c->no_view = (struct kpl_agg_view) { &c->no_bank, agg->no_index };
		c->now = &c->no_view;
		c->value = (u64 *)(agg->no_cell + 1);
	}
	return 0;
}

int kpl_agg_alloc(struct kpl_agg *agg, struct kpl_session *s)
{
	struct kpl_area_plan plan = kpl_agg_plan(agg);
	int err;

	agg->areas = kpl_areas_alloc(s, &plan, agg->bank_size * KPL_BANKS, false);
	agg->cpu = alloc_percpu_gfp(struct kpl_agg_cpu, KPL_GFP_PERCPU);
	if (agg->areas)
		agg->areas->charged = kpl_areas_memory();
	if (!agg->areas || !agg->cpu)
		return -ENOMEM;
	err = kpl_agg_without(agg);
	if (err)
		return err;
	agg->grower.areas = agg->areas;
	agg->grower.make = kpl_agg_make;
	return kpl_grow_begin(&agg->grower);
}

/* The cells may stay mapped, and charged. */
static void kpl_index_free(struct kpl_agg *agg, u64 *index)
{
	if (!index)
		return;
	vfree(index);
	kpl_areas_uncharge(agg->areas, kpl_index_memory(agg));
}

void kpl_agg_free(struct kpl_agg *agg)
{
	u32 cpu;

	kpl_grow_end(&agg->grower);
	if (agg->cpu)
		for_each_possible_cpu(cpu)
			kpl_index_free(agg, per_cpu_ptr(agg->cpu, cpu)->view[0].index);
	kpl_areas_put(agg->areas);
	free_percpu(agg->cpu);
	vunmap(agg->no_index);
	kfree(agg->no_cell);
}

/* Of an unkeyed one, as far as its cell tells: of sums alone, whether there were any. */
u64 kpl_agg_lost(const struct kpl_agg *agg)
{
	u64 lost = 0;
	u32 i;

	if (agg->shape.key_size) {
		for_each_possible_cpu(i)
			lost += READ_ONCE(per_cpu_ptr(agg->cpu, i)->no_bank.lost);
		return lost;
	}
	for (i = 0; i < (agg->holds ? 1 : agg->shape.value_size / sizeof(u64)); i++)
		lost += READ_ONCE(((u64 *)(agg->no_cell + 1))[i]);
	return agg->holds & KPL_AGG_N || !agg->holds ? lost : !!lost;
}

/* The CPUs that have memory go on with the other bank, which is empty. */
static void kpl_agg_switch(struct kpl_agg *agg)
{
	u32 cpu;

	mutex_lock(&agg->areas->lock);
	agg->epoch++;
	agg->next = !agg->active;
	for_each_possible_cpu(cpu) {
		struct kpl_agg_cpu *c = per_cpu_ptr(agg->cpu, cpu);

		if (!c->view[agg->next].bank)
			continue;
		kpl_bank_empty(agg, &c->view[agg->next], agg->epoch);
		/* An interrupted update of the old bank ends before the grace period does. */
		kpl_agg_go(agg, c, agg->next);
		cond_resched_tasks_rcu_qs();
	}
	mutex_unlock(&agg->areas->lock);
}

void kpl_agg_clear(struct kpl_agg *agg)
{
	kpl_agg_switch(agg);
	kpl_hits_drain();
	agg->active = agg->next;
}
