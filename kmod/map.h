/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Maps: aggregations for each CPU (agg.c) and the shared hash (hash.c). */
#ifndef KPL_MAP_H
#define KPL_MAP_H

#include <linux/math64.h>
#include <linux/percpu.h>

#include "area.h"
#include "hit.h"
#include "session.h"

#define KPL_DEFAULT_ENTRIES	4096
#define KPL_BANKS		2

/* One bank of an aggregation, as its CPU uses it. */
struct kpl_agg_view {
	struct kpl_agg_bank *bank;	/* its cells follow */
	u64 *index;			/* keyed: hash << 32 | cell + 1 */
};

/* Both are read once for each update. */
struct kpl_agg_cpu {
	u64 *value;			/* unkeyed: of the active bank's only cell */
	struct kpl_agg_view *now;	/* keyed: the active bank */
	struct kpl_agg_view view[KPL_BANKS];
};

struct kpl_agg {
	struct kpl_agg_cpu __percpu *cpu;
	struct kpl_area area;
	u64 *index;			/* of all CPUs and banks */
	u32 index_size;			/* slots of one, a power of two; 0: no key */
	u32 cell_size;
	u64 bank_size;
	u64 epoch;
	u32 active;			/* bank */
};

struct kpl_hash {
	struct kpl_bucket *buckets;
	void *entries;			/* entry 0 is never used */
	u32 mask;
	u32 stride;			/* bytes of an entry */
	u32 nr_entries;
	u64 free;			/* tag << 32 | first free entry */
	atomic_t used;
	atomic64_t lost, busy;
};

struct kpl_map {
	u32 kind;
	u32 key_size, value_size;	/* bytes, multiples of 8 */
	u32 max_entries;
	u32 update;			/* enum kpl_agg_update */
	u32 holds;			/* KPL_AGG_* */
	s64 lo, step;			/* aggregations of steps */
	u64 seed;
	u64 charged;
	union {
		struct kpl_agg agg;
		struct kpl_hash hash;
	};
};

static inline bool kpl_map_is_agg(const struct kpl_map *map)
{
	return map->kind < KPL_MAP_HASH;
}

static __always_inline u64 kpl_mix(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

/* Seeded: who chooses keys can't choose collisions.  Never 0 in the upper half. */
static __always_inline u64 kpl_key_hash(const struct kpl_map *map, const u64 *key)
{
	u64 hash = map->seed;
	u32 i;

	for (i = 0; i < map->key_size / 8; i++)
		hash = kpl_mix(hash ^ key[i], 0x9e3779b97f4a7c15ull);
	return hash >> 32 ? hash : hash | 1ull << 32;
}

static __always_inline bool kpl_key_equal(const struct kpl_map *map, const u64 *a, const u64 *b)
{
	u32 i;

	for (i = 0; i < map->key_size / 8; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

struct kpl_map *kpl_map_get(struct kpl_session *s, u32 id);
void kpl_maps_free(struct kpl_session *s);
int kpl_map_drop(struct kpl_session *s, u32 id);
int kpl_map_mmap(struct kpl_session *s, struct vm_area_struct *vma, u64 off);

int kpl_map_create(struct kpl_session *s, struct kpl_map_create *arg);
int kpl_map_clear(struct kpl_session *s, struct kpl_map_clear *arg);
int kpl_map_info(struct kpl_session *s, struct kpl_map_info *arg);
int kpl_map_op(struct kpl_session *s, struct kpl_map_op *arg);

/* agg.c; process context */
u64 kpl_agg_memory(struct kpl_map *map);	/* also plans the layout */
int kpl_agg_alloc(struct kpl_map *map);
void kpl_agg_free(struct kpl_map *map);
s32 kpl_agg_helper(const struct kpl_map *map);	/* what calls of agg_add become */
void kpl_agg_clear(struct kpl_map *map);	/* returns when the old bank is quiet */

/* hash.c */
enum kpl_hash_result {
	KPL_HASH_DONE,
	KPL_HASH_ABSENT,
	KPL_HASH_FULL,
	KPL_HASH_BUSY,
};

u64 kpl_hash_memory(struct kpl_map *map);
int kpl_hash_alloc(struct kpl_map *map);
void kpl_hash_free(struct kpl_map *map);

/* Under the guard: preemption off, any context.  Keys and values are copied. */
enum kpl_hash_result kpl_hash_read(struct kpl_map *map, const u64 *key, u64 *value);
enum kpl_hash_result kpl_hash_write(struct kpl_map *map, const u64 *key, const u64 *value);
enum kpl_hash_result kpl_hash_delete(struct kpl_map *map, const u64 *key);
/* Entry `at`, if it is in use. */
enum kpl_hash_result kpl_hash_entry(struct kpl_map *map, u32 at, u64 *key, u64 *value);

#endif
