/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What aggregations and hashes have in common: the sizes of what they hold, and their keys. */
#ifndef KPL_SHAPE_H
#define KPL_SHAPE_H

#include "words.h"

/* First in both, so that it is a map's. */
struct kpl_shape {
	u32 kind;			/* enum kpl_map_kind */
	u32 key_size, value_size;	/* bytes, multiples of 8 */
	u32 max_entries;
	u32 key_string;			/* as in struct kpl_map_create */
	u64 seed;
};

/* How many words of the key tell it from others. */
static __always_inline u32 kpl_key_words(const struct kpl_shape *shape, const u64 *key)
{
	u32 words = shape->key_size / 8, len, used;

	if (!shape->key_string)
		return words;
	len = ((const struct kpl_str *)(key + shape->key_string - 1))->len;
	used = shape->key_string + len / 8 + !!(len % 8);
	return used < words ? used : words;
}

static __always_inline u64 kpl_mix(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

/*
 * A step for each word; begins with the seed.  Two keys of the same hash come by
 * chance once in 2^32 that are compared, or from who has read the seed: so a
 * search ends at the first other key that is alike, as if there were no room.
 * None lies behind such a key, since it was searched for before it was added.
 */
static __always_inline u64 kpl_hash_step(u64 hash, u64 word)
{
	return kpl_mix(hash ^ word, 0x9e3779b97f4a7c15ull);
}

/* A string's length and first word at once; neither factor can be made 0. */
static __always_inline u64 kpl_hash_string(u64 seed, u64 len, u64 word)
{
	return kpl_mix((seed >> 32 | seed << 32) ^ len, seed ^ word);
}

/* Never 0 in the upper half. */
static __always_inline u64 kpl_hash_end(u64 hash)
{
	return hash >> 32 ? hash : hash | 1ull << 32;
}

static __always_inline u64 kpl_hash_words(u64 hash, const u64 *words, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		hash = kpl_hash_step(hash, words[i]);
	return kpl_hash_end(hash);
}

static __always_inline u64 kpl_key_hash(const struct kpl_shape *shape, const u64 *key, u32 words)
{
	if (shape->key_string != 1)
		return kpl_hash_words(shape->seed, key, words);
	if (words == 1)
		return kpl_hash_end(kpl_hash_string(shape->seed, key[0], 0));
	return kpl_hash_words(kpl_hash_string(shape->seed, key[0], key[1]), key + 2, words - 2);
}

/* The word with the length is among them: of equal keys, both have that many. */
static __always_inline bool kpl_key_equal(const u64 *a, const u64 *b, u32 words)
{
	u32 i;

	for (i = 0; i < words; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static __always_inline void kpl_key_copy(const struct kpl_shape *shape, u64 *to, const u64 *key,
					 u32 words)
{
	kpl_words_copy(to, key, words);
	kpl_words_zero(to + words, shape->key_size / 8 - words);
}

#endif
