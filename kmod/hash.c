// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The map that handlers and user space share: chains of preallocated entries
 * under a raw lock for each bucket.  Nobody waits for long: whoever can't get
 * a lock within the bound gives up, and that is counted.  A holder is never
 * interrupted by another handler of its CPU: the guard is held.
 */
#include <linux/atomic.h>
#include <linux/processor.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "guard.h"
#include "hash.h"
#include "session.h"
#include "words.h"

#define KPL_MAX_SPINS	200	/* tries for a bucket that another CPU holds */
#define KPL_MAX_TRIES	2000	/* for a free entry: each that fails is another CPU's success */
#define KPL_MAX_CHAIN	16	/* entries looked at: with a bucket for each, more do not come */

struct kpl_bucket {
	u32 locked;
	u32 first;	/* entry; 0: none */
};

/* Followed by key and value. */
struct kpl_entry {
	u32 next;	/* in its list; 0: none. kpl_entry_take() may look at any time */
	u32 bucket;	/* where it is chained, if in use */
	u32 hash;	/* upper half of the key's hash */
	u32 used;
};

static __always_inline struct kpl_entry *kpl_entry(const struct kpl_hash *map, u32 at)
{
	return map->entries + (u64)at * map->stride;
}

static __always_inline u64 *kpl_entry_key(struct kpl_entry *entry)
{
	return (u64 *)(entry + 1);
}

static __always_inline u64 *kpl_entry_value(const struct kpl_hash *map, struct kpl_entry *entry)
{
	return (void *)(entry + 1) + map->shape.key_size;
}

static __always_inline void kpl_copy(u64 *to, const u64 *from, u32 size)
{
	kpl_words_copy(to, from, size / 8);
}

static bool kpl_lock(struct kpl_hash *map, struct kpl_bucket *bucket)
{
	u32 spins;

	for (spins = 0; spins < KPL_MAX_SPINS; spins++) {
		if (!READ_ONCE(bucket->locked) && !cmpxchg_acquire(&bucket->locked, 0, 1))
			return true;
		cpu_relax();
	}
	return false;
}

static void kpl_unlock(struct kpl_bucket *bucket)
{
	/* Pairs with the acquire in kpl_lock(). */
	smp_store_release(&bucket->locked, 0);
}

/* --------------------------------------------------------------- free entries */

/* The tag changes with each take, so that a list which only looks the same is noticed. */
static u32 kpl_entry_take(struct kpl_hash *map)
{
	u64 head = READ_ONCE(map->free);
	u32 tries;

	for (tries = 0; tries < KPL_MAX_TRIES && (u32)head; tries++) {
		u64 tag = (head >> 32) + 1;
		u64 next = tag << 32 | READ_ONCE(kpl_entry(map, (u32)head)->next);
		u64 found = cmpxchg(&map->free, head, next);

		if (found == head) {
			atomic_inc(&map->used);
			return (u32)head;
		}
		head = found;
	}
	return 0;
}

/* Unbounded, yet each failure is another CPU's success. */
static void kpl_entry_give(struct kpl_hash *map, u32 at)
{
	u64 head = READ_ONCE(map->free), found;

	atomic_dec(&map->used);
	for (;; head = found) {
		WRITE_ONCE(kpl_entry(map, at)->next, (u32)head);
		found = cmpxchg(&map->free, head, (head >> 32) << 32 | at);
		if (found == head)
			return;
	}
}

/* ----------------------------------------------------------------- operations */

/* What a search found; the bucket is locked. */
struct kpl_found {
	struct kpl_bucket *bucket;
	u32 *link;		/* what points to the entry, or the end of the chain */
	struct kpl_entry *entry;	/* NULL: absent */
	u64 hash;
	u32 words;		/* of the key */
	bool full;		/* no search goes beyond that end, or beyond a key that is alike */
};

static bool kpl_find(struct kpl_hash *map, const u64 *key, struct kpl_found *p)
{
	u32 steps = 0;

	p->words = kpl_key_words(&map->shape, key);
	p->hash = kpl_key_hash(&map->shape, key, p->words);
	p->bucket = &map->buckets[p->hash & map->mask];
	p->entry = NULL;
	p->full = false;
	if (!kpl_lock(map, p->bucket))
		return false;
	p->link = &p->bucket->first;
	while (*p->link && !p->full) {
		struct kpl_entry *entry = kpl_entry(map, *p->link);

		if (entry->hash == p->hash >> 32) {
			if (kpl_key_equal(kpl_entry_key(entry), key, p->words))
				p->entry = entry;
			else
				p->full = true;		/* alike: shape.h */
			break;
		}
		p->link = &entry->next;
		p->full = ++steps == KPL_MAX_CHAIN;
	}
	return true;
}

/* A new entry at the end of the chain, its value 0; NULL: no room. */
static struct kpl_entry *kpl_insert(struct kpl_hash *map, const u64 *key, struct kpl_found *p)
{
	u32 at = p->full ? 0 : kpl_entry_take(map);
	struct kpl_entry *entry;

	if (!at) {
		atomic64_inc(&map->lost);
		return NULL;
	}
	entry = kpl_entry(map, at);
	WRITE_ONCE(entry->next, 0);
	entry->hash = p->hash >> 32;
	kpl_key_copy(&map->shape, kpl_entry_key(entry), key, p->words);
	kpl_words_zero(kpl_entry_value(map, entry), map->shape.value_size / 8);
	WRITE_ONCE(entry->bucket, p->hash & map->mask);
	/* Whoever sees it in use sees its bucket: kpl_hash_entry(). */
	smp_store_release(&entry->used, 1);
	WRITE_ONCE(*p->link, at);
	return entry;
}

void kpl_hash_gave_up(struct kpl_hash *map)
{
	atomic64_inc(&map->busy);
}

enum kpl_hash_result kpl_hash_read(struct kpl_hash *map, const u64 *key, u64 *value)
{
	struct kpl_found p;

	if (!kpl_find(map, key, &p))
		return KPL_HASH_BUSY;
	if (p.entry)
		kpl_copy(value, kpl_entry_value(map, p.entry), map->shape.value_size);
	kpl_unlock(p.bucket);
	return p.entry ? KPL_HASH_DONE : KPL_HASH_ABSENT;
}

enum kpl_hash_result kpl_hash_write(struct kpl_hash *map, const u64 *key, const u64 *value)
{
	struct kpl_found p;

	if (!kpl_find(map, key, &p))
		return KPL_HASH_BUSY;
	if (!p.entry)
		p.entry = kpl_insert(map, key, &p);
	if (p.entry)
		kpl_copy(kpl_entry_value(map, p.entry), value, map->shape.value_size);
	kpl_unlock(p.bucket);
	return p.entry ? KPL_HASH_DONE : KPL_HASH_FULL;
}

static enum kpl_hash_result kpl_hash_add(struct kpl_hash *map, const u64 *key, u64 n)
{
	struct kpl_found p;

	if (!kpl_find(map, key, &p))
		return KPL_HASH_BUSY;
	if (!p.entry)
		p.entry = kpl_insert(map, key, &p);
	if (p.entry)
		*kpl_entry_value(map, p.entry) += n;
	kpl_unlock(p.bucket);
	return p.entry ? KPL_HASH_DONE : KPL_HASH_FULL;
}

enum kpl_hash_result kpl_hash_delete(struct kpl_hash *map, const u64 *key)
{
	struct kpl_found p;
	u32 at;

	if (!kpl_find(map, key, &p))
		return KPL_HASH_BUSY;
	if (p.entry) {
		at = *p.link;
		WRITE_ONCE(*p.link, p.entry->next);
		WRITE_ONCE(p.entry->used, 0);
		kpl_entry_give(map, at);
	}
	kpl_unlock(p.bucket);
	return p.entry ? KPL_HASH_DONE : KPL_HASH_ABSENT;
}

enum kpl_hash_result kpl_hash_entry(struct kpl_hash *map, u32 at, u64 *key, u64 *value)
{
	struct kpl_entry *entry = kpl_entry(map, at);
	enum kpl_hash_result result = KPL_HASH_ABSENT;
	struct kpl_bucket *bucket;

	/* Pairs with kpl_insert(). */
	if (!smp_load_acquire(&entry->used))
		return result;
	bucket = &map->buckets[READ_ONCE(entry->bucket)];
	if (!kpl_lock(map, bucket))
		return KPL_HASH_BUSY;
	/* It may have been freed, and used again elsewhere, before the lock was ours. */
	if (smp_load_acquire(&entry->used) &&
	    bucket == &map->buckets[READ_ONCE(entry->bucket)]) {
		kpl_copy(key, kpl_entry_key(entry), map->shape.key_size);
		kpl_copy(value, kpl_entry_value(map, entry), map->shape.value_size);
		result = KPL_HASH_DONE;
	}
	kpl_unlock(bucket);
	return result;
}

/* --------------------------------------------------------------------- memory */

u64 kpl_hash_memory(struct kpl_hash *map)
{

	map->stride = sizeof(struct kpl_entry) + map->shape.key_size + map->shape.value_size;
	map->nr_entries = map->shape.max_entries + 1;
	map->mask = roundup_pow_of_two(map->shape.max_entries) - 1;
	return (u64)map->nr_entries * map->stride + (map->mask + 1ull) * sizeof(struct kpl_bucket);
}

int kpl_hash_alloc(struct kpl_hash *map)
{
	u32 at;

	map->buckets = __vmalloc((map->mask + 1ull) * sizeof(*map->buckets), KPL_GFP | __GFP_ZERO);
	map->entries = __vmalloc((u64)map->nr_entries * map->stride, KPL_GFP | __GFP_ZERO);
	if (!map->buckets || !map->entries)
		return -ENOMEM;
	for (at = 1; at + 1 < map->nr_entries; at++) {
		kpl_entry(map, at)->next = at + 1;
		if (at % 1024 == 0)
			cond_resched_tasks_rcu_qs();
	}
	map->free = 1;
	return 0;
}

void kpl_hash_free(struct kpl_hash *map)
{
	vfree(map->buckets);
	vfree(map->entries);
}

/* -------------------------------------------------------------------- helpers */

/* What is not done is counted: a handler does not try again. */
static bool kpl_is_done(struct kpl_hash *map, enum kpl_hash_result result)
{
	if (result == KPL_HASH_BUSY)
		kpl_hash_gave_up(map);
	return result == KPL_HASH_DONE;
}

/* The verifier takes the destination for written, whatever the result. */
u64 kpl_h_map_get(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_hash *map = (struct kpl_hash *)r2;

	if (kpl_is_done(map, kpl_hash_read(map, (const u64 *)r3, (u64 *)r4)))
		return 1;
	kpl_words_zero((u64 *)r4, map->shape.value_size / 8);
	return 0;
}

u64 kpl_h_map_set(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_hash *map = (struct kpl_hash *)r2;

	kpl_acts(r1);
	return kpl_is_done(map, kpl_hash_write(map, (const u64 *)r3, (u64 *)r4));
}

u64 kpl_h_map_delete(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_hash *map = (struct kpl_hash *)r2;

	kpl_acts(r1);
	return kpl_is_done(map, kpl_hash_delete(map, (const u64 *)r3));
}

u64 kpl_h_map_add(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_hash *map = (struct kpl_hash *)r2;

	kpl_acts(r1);
	return kpl_is_done(map, kpl_hash_add(map, (const u64 *)r3, r4));
}
