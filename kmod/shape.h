/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What aggregations and hashes have in common: the sizes of what they hold, and their keys. */
#ifndef KPL_SHAPE_H
#define KPL_SHAPE_H

#include "core/core.h"

/* First in both, so that it is a map's. */
struct kpl_shape {
	u32 kind;			/* enum kpl_map_kind */
	u32 key_size, value_size;	/* bytes, multiples of 8 */
	u32 max_entries;
	u64 seed;
};

static __always_inline u64 kpl_mix(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

/* Seeded: who chooses keys can't choose collisions.  Never 0 in the upper half. */
static __always_inline u64 kpl_key_hash(const struct kpl_shape *shape, const u64 *key)
{
	u64 hash = shape->seed;
	u32 i;

	for (i = 0; i < shape->key_size / 8; i++)
		hash = kpl_mix(hash ^ key[i], 0x9e3779b97f4a7c15ull);
	return hash >> 32 ? hash : hash | 1ull << 32;
}

static __always_inline bool kpl_key_equal(const struct kpl_shape *shape, const u64 *a, const u64 *b)
{
	u32 i;

	for (i = 0; i < shape->key_size / 8; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

#endif
