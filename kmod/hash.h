/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The hash that handlers and user space share. */
#ifndef KPL_HASH_H
#define KPL_HASH_H

#include <linux/atomic.h>

#include "shape.h"

struct kpl_hash {
	struct kpl_shape shape;
	struct kpl_bucket *buckets;
	void *entries;			/* entry 0 is never used */
	u32 mask;
	u32 stride;			/* bytes of an entry */
	u32 nr_entries;
	u64 free;			/* tag << 32 | first free entry */
	atomic_t used;
	atomic64_t lost, busy;
};

enum kpl_hash_result {
	KPL_HASH_DONE,
	KPL_HASH_ABSENT,
	KPL_HASH_FULL,
	KPL_HASH_BUSY,
};

/* Process context. */
u64 kpl_hash_memory(struct kpl_hash *map);	/* also plans the layout */
int kpl_hash_alloc(struct kpl_hash *map);
void kpl_hash_free(struct kpl_hash *map);

/* Under the guard: preemption off, any context.  Keys and values are copied. */
enum kpl_hash_result kpl_hash_read(struct kpl_hash *map, const u64 *key, u64 *value);
enum kpl_hash_result kpl_hash_write(struct kpl_hash *map, const u64 *key, const u64 *value);
enum kpl_hash_result kpl_hash_delete(struct kpl_hash *map, const u64 *key);
/* What is BUSY is told to the caller alone; this counts it as given up. */
void kpl_hash_gave_up(struct kpl_hash *map);
/* Entry `at`, if it is in use. */
enum kpl_hash_result kpl_hash_entry(struct kpl_hash *map, u32 at, u64 *key, u64 *value);

#endif
