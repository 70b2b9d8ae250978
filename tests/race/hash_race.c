/* SPDX-License-Identifier: MIT */
/*
 * kmod/hash.c under ThreadSanitizer: threads stand for CPUs, and one of them
 * for user space that iterates.  What must hold is counted as well:
 *   the words of a value are always those of one write;
 *   sums of adds are exact; a full map refuses, and counts that;
 *   what is in the map at the end is what was put there and not deleted.
 *
 * usage: hash_race [ROUNDS]
 */
#include <pthread.h>
#include <stdio.h>

#include "hash.h"

u64 kpl_h_map_add(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5);

enum { CPUS = 4, KEYS = 40, ROOM = 24, WORDS = 4 };

static struct kpl_hash values, sums;
static u64 rounds = 20000;
static u64 added[CPUS], refused[CPUS], failures;

static void check(bool ok, const char *what)
{
	if (ok || __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED))
		return;
	fprintf(stderr, "hash_race: %s\n", what);
}

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static bool whole(u64 key, const u64 *value)
{
	u32 i;

	for (i = 1; i < WORDS; i++)
		if (value[i] != value[0])
			return false;
	return value[0] % 1000 == key;
}

static void one_access(u64 *random, u64 cpu)
{
	u64 key[1] = { next_random(random) % KEYS }, value[WORDS], n = next_random(random) * 1000 + key[0];
	u32 i;

	n -= n % 1000 - key[0];
	for (i = 0; i < WORDS; i++)
		value[i] = n;
	switch (next_random(random) % 4) {
	case 0:
		if (kpl_hash_write(&values, key, value) == KPL_HASH_FULL)
			refused[cpu]++;
		break;
	case 1:
		kpl_hash_delete(&values, key);
		break;
	case 2:
		if (kpl_hash_read(&values, key, value) == KPL_HASH_DONE)
			check(whole(key[0], value), "a value is torn");
		break;
	default:
		key[0] %= ROOM;
		added[cpu] += kpl_h_map_add(0, (u64)(uintptr_t)&sums, (u64)(uintptr_t)key, 1, 0);
	}
}

static void *handlers(void *arg)
{
	u64 cpu = (uintptr_t)arg, random = 88172645463325252ull * (cpu + 1), i;

	for (i = 0; i < rounds; i++)
		one_access(&random, cpu);
	return NULL;
}

static void *user_space(void *arg)
{
	u64 i, key[1], value[WORDS];

	(void)arg;
	for (i = 0; i < rounds; i++)
		if (kpl_hash_entry(&values, 1 + i % ROOM, key, value) == KPL_HASH_DONE)
			check(whole(key[0], value), "an iteration sees a torn entry");
	return NULL;
}

static void make(struct kpl_hash *map, u32 words)
{
	memset(map, 0, sizeof(*map));
	map->shape.kind = KPL_MAP_HASH;
	map->shape.key_size = 8;
	map->shape.value_size = 8 * words;
	map->shape.max_entries = ROOM;
	map->shape.seed = 0x1234567;
	kpl_hash_memory(map);
	if (kpl_hash_alloc(map))
		exit(1);
}

static void check_end(void)
{
	u64 total = 0, want = 0, lost = 0, entries = 0, key[1], value[WORDS];
	u32 i;

	for (i = 0; i < CPUS; i++) {
		want += added[i];
		lost += refused[i];
	}
	for (i = 1; i <= ROOM; i++) {
		if (kpl_hash_entry(&sums, i, key, value) == KPL_HASH_DONE)
			total += value[0];
		entries += kpl_hash_entry(&values, i, key, value) == KPL_HASH_DONE;
	}
	check(total == want, "adds are lost");
	check(lost == (u64)atomic64_read(&values.lost), "refusals are not counted");
	check(lost > 0, "the map was never full");
	check(entries == (u64)atomic_read(&values.used), "entries are lost");
	for (i = 0; i < KEYS; i++) {
		key[0] = i;
		entries -= kpl_hash_delete(&values, key) == KPL_HASH_DONE;
	}
	check(entries == 0, "a key is in the map twice, or not found");
	for (i = 0; i < ROOM; i++) {
		key[0] = i;
		check(kpl_hash_write(&values, key, value) == KPL_HASH_DONE, "an entry did not come back");
	}
	key[0] = i;
	check(kpl_hash_write(&values, key, value) == KPL_HASH_FULL, "a full map takes more");
	printf("%llu adds, %llu refused, %lld busy\n", (unsigned long long)total, (unsigned long long)lost,
	       (long long)(atomic64_read(&values.busy) + atomic64_read(&sums.busy)));
}

int main(int argc, char **argv)
{
	pthread_t threads[CPUS + 1];
	u64 i;

	if (argc > 1)
		rounds = strtoull(argv[1], NULL, 10);
	make(&values, WORDS);
	make(&sums, 1);
	for (i = 0; i < CPUS; i++)
		pthread_create(&threads[i], NULL, handlers, (void *)(uintptr_t)i);
	pthread_create(&threads[CPUS], NULL, user_space, NULL);
	for (i = 0; i <= CPUS; i++)
		pthread_join(threads[i], NULL);
	check_end();
	kpl_hash_free(&values);
	kpl_hash_free(&sums);
	return failures != 0;
}
