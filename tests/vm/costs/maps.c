/* SPDX-License-Identifier: MIT */
/* Helpers on maps: small and large keys and values, in full maps, found and not. */
#define _GNU_SOURCE
#include "costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define ROOM	64	/* keys of a map */

/* The key is the call's number and the case's, at the start of the instance data. */
static void set_key(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, INSN(BPF_ST | BPF_MEM | BPF_DW, 8, 0, 0, nr + m->b));
}

/* With the key that is there. */
static void call_keyed(struct code *c, const struct measurement *m, struct bpf_insn set_r4)
{
	put(c, MOV(1, 6));
	put_map(c, 2, m->a);
	put(c, MOV(3, 8));
	put(c, set_r4);
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void add(struct code *c, const struct measurement *m, unsigned nr)
{
	set_key(c, m, nr);
	call_keyed(c, m, MOVI(4, 12345));
}

static void add_unkeyed(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put_map(c, 2, m->a);
	put(c, MOVI(3, 0));
	put(c, MOVI(4, 12345));
	put(c, CALL(agg_add));
}

static void add_comm(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put_map(c, 2, m->a);
	put(c, MOVI(3, 12345));
	put(c, CALL(agg_add_comm));
}

/* The value is in scratch memory. */
static void access(struct code *c, const struct measurement *m, unsigned nr)
{
	set_key(c, m, nr);
	call_keyed(c, m, MOV(4, 7));
}

/* The keys that are deleted. */
static void set_all(struct code *c, const struct measurement *m)
{
	unsigned i;

	for (i = 0; i < 16; i++) {
		set_key(c, m, i);
		put(c, MOV(1, 6));
		put_map(c, 2, m->a);
		put(c, MOV(3, 8));
		put(c, MOV(4, 7));
		put(c, CALL(map_set));
	}
}

/* ------------------------------------- keys made by who knows the hash's seed */

static uint64_t kernel_word(int fd, uint64_t addr)
{
	struct kpl_prog_load load = { .kind = KPL_PROG_RET, .data_size = 8 };
	uint64_t word = 0;
	struct kpl_prog_run run = { .data = (uintptr_t)&word, .data_size = 8 };
	struct kpl_free program = { .kind = KPL_FREE_PROG };

	run.id = program.id = load_with(fd, &load, PROG(LD(7, 1, HIT(data)), IMM64(2, addr), CALL(read64), ST(7, 0, 0),
							RETURN(0)));
	EQ(ioctl(fd, KPL_IOC_PROG_RUN, &run), 0);
	EQ(ioctl(fd, KPL_IOC_FREE, &program), 0);
	return word;
}

/* A handler may read all memory: the map's address is in its native code (movabs to rsi), the seed at its start (shape.h). */
static uint64_t seed_of(int fd, const struct kpl_map_create *create, unsigned map)
{
	unsigned char code[4096] = { 0 };
	struct kpl_prog_load load = { .kind = KPL_PROG_RET, .data_size = KPL_MAX_DATA, .scratch_size = KPL_MAX_SCRATCH };
	struct kpl_prog_native native = { .size = sizeof(code), .code = (uintptr_t)code };
	struct kpl_free program = { .kind = KPL_FREE_PROG };
	struct code calls = { .nr = 0 };
	unsigned i;

	put(&calls, LD(3, 1, HIT(data)));
	put(&calls, LD(4, 1, HIT(scratch)));
	put_map(&calls, 2, map);
	if (create->kind == KPL_MAP_HASH) {
		put(&calls, CALL(map_get));
	} else {
		put(&calls, MOVI(4, 1));
		put(&calls, CALL(agg_add));
	}
	put(&calls, MOVI(0, 0));
	put(&calls, EXIT);
	native.id = program.id = load_with(fd, &load, calls.insns, calls.nr);
	EQ(ioctl(fd, KPL_IOC_PROG_NATIVE, &native), 0);
	EQ(ioctl(fd, KPL_IOC_FREE, &program), 0);
	for (i = 0; i + 10 <= native.size && i + 10 <= sizeof(code); i++) {
		uint64_t at;

		memcpy(&at, code + i + 2, sizeof(at));
		if (code[i] == 0x48 && code[i + 1] == 0xbe && at >> 63 &&
		    kernel_word(fd, at) == ((uint64_t)create->key_size << 32 | create->kind) &&
		    kernel_word(fd, at + 8) >> 32 == create->max_entries)
			return kernel_word(fd, at + 24);
	}
	printf("FAILED: the map's address is not in the code\n");
	exit(1);
}

static uint64_t mix(uint64_t a)
{
	unsigned __int128 product = (unsigned __int128)a * 0x9e3779b97f4a7c15ull;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t seed;		/* of the map that is measured */
static unsigned key_words;

/* Keys that are alike but for the last two words: in the last step of the hash, all are the same number. */
static void set_alike(struct code *c, unsigned nr)
{
	uint64_t hash = seed;
	unsigned i;

	for (i = 0; i + 2 < key_words; i++)
		hash = mix(hash);
	hash = mix(hash ^ nr);
	put_number(c, 1, hash ^ 1);
	put(c, ST(8, 8 * (key_words - 1), 1));
	put(c, INSN(BPF_ST | BPF_MEM | BPF_DW, 8, 0, 8 * (key_words - 2), nr));
}

static void call_made(struct code *c, const struct measurement *m)
{
	call_keyed(c, m, m->fresh->kind == KPL_MAP_HASH ? MOV(4, 7) : MOVI(4, 1));
}

static void alike(struct code *c, const struct measurement *m, unsigned nr)
{
	set_alike(c, nr + 1);
	call_made(c, m);
}

static void prepare_alike(struct code *c, const struct measurement *m)
{
	seed = seed_of(m->fd, m->fresh, m->a);
	key_words = m->fresh->key_size / 8;
	set_alike(c, 0);
	call_made(c, m);
}

/* Keys of a word, the hashes of which lead to one place and differ. */
static uint64_t crowded;

static void set_crowded(struct code *c)
{
	do
		crowded++;
	while (mix(seed ^ crowded) % (4 * ROOM));
	put_number(c, 1, crowded);
	put(c, ST(8, 0, 1));
}

static void crowd(struct code *c, const struct measurement *m, unsigned nr)
{
	set_crowded(c);
	call_made(c, m);
}

static void prepare_crowd(struct code *c, const struct measurement *m)
{
	unsigned i;

	seed = seed_of(m->fd, m->fresh, m->a);
	for (crowded = i = 0; i < ROOM / 2; i++)
		crowd(c, m, i);
}

static unsigned new_map(int fd, unsigned kind, unsigned key, unsigned value)
{
	struct kpl_map_create create = {
		.kind = kind, .key_size = key, .value_size = kind == KPL_MAP_HASH ? value : 0,
		.max_entries = key ? ROOM : 0,
	};

	if (kind == KPL_MAP_LHIST) {
		create.hi = 100000;
		create.step = 1000;
	}
	return map_create(fd, &create);
}

static void measure_aggregations(int fd)
{
	static const char *const kinds[] = { "count", "sum", "avg", "min", "max", "stats", "hist", "lhist" };
	static const unsigned keys[] = { 8, 24, 64, 544, KPL_MAX_KEY };
	char what[32];
	unsigned i, map;

	for (i = 0; i < KPL_MAP_HASH; i++) {
		sprintf(what, "%s", kinds[i]);
		CASE(agg_add, what, .fd = fd, .call = add_unkeyed, .a = new_map(fd, i, 0, 0));
	}
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct kpl_map_create count = { .kind = KPL_MAP_COUNT, .key_size = keys[i], .max_entries = ROOM };

		sprintf(what, "count, new key of %u", keys[i]);
		CASE(agg_add, what, .fd = fd, .call = add, .fresh = &count);
		sprintf(what, "count, alike, of %u", keys[i]);
		if (keys[i] > 8)
			CASE(agg_add, what, .fd = fd, .prepare = prepare_alike, .call = alike, .fresh = &count);
		else
			CASE(agg_add, "count, crowded", .fd = fd, .prepare = prepare_crowd, .call = crowd, .fresh = &count);
		map = new_map(fd, KPL_MAP_STATS, keys[i], 0);
		sprintf(what, "stats, new and found key of %u", keys[i]);
		CASE(agg_add, what, .fd = fd, .call = add, .a = map);
		CASE(agg_add, "the rest of the room", .fd = fd, .call = add, .a = map, .b = 16);
		CASE(agg_add, "the rest of the room", .fd = fd, .call = add, .a = map, .b = 32);
		CASE(agg_add, "the rest of the room", .fd = fd, .call = add, .a = map, .b = 48);
		CASE(agg_add, "full", .fd = fd, .call = add, .a = map, .b = 64);
		if (keys[i] == KPL_STR_SIZE(KPL_COMM))
			CASE(agg_add_comm, "full", .fd = fd, .call = add_comm, .a = map);
	}
	for (i = 0; i < KPL_MAP_HASH; i++) {
		map = new_map(fd, i, KPL_STR_SIZE(KPL_COMM), 0);
		CASE(agg_add_comm, kinds[i], .fd = fd, .call = add_comm, .a = map);
	}
}

static void measure_hashes(int fd)
{
	static const struct { unsigned key, value; } sizes[] = {
		{ 8, 8 }, { 24, 64 }, { 8, KPL_MAX_VALUE }, { KPL_MAX_KEY, 8 }, { KPL_MAX_KEY, KPL_MAX_VALUE },
	};
	char what[40];
	unsigned i, map;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct kpl_map_create fresh = {
			.kind = KPL_MAP_HASH, .key_size = sizes[i].key, .value_size = sizes[i].value, .max_entries = ROOM,
		};

		sprintf(what, "%u to %u, new", sizes[i].key, sizes[i].value);
		CASE(map_set, what, .fd = fd, .call = access, .fresh = &fresh);
		CASE(map_add, what, .fd = fd, .call = add, .fresh = &fresh);
		sprintf(what, "%u to %u, there", sizes[i].key, sizes[i].value);
		CASE(map_delete, what, .fd = fd, .prepare = set_all, .call = access, .fresh = &fresh);
		if (sizes[i].key > 8) {
			sprintf(what, "%u to %u, alike", sizes[i].key, sizes[i].value);
			CASE(map_set, what, .fd = fd, .prepare = prepare_alike, .call = alike, .fresh = &fresh);
		} else {
			sprintf(what, "%u to %u, crowded", sizes[i].key, sizes[i].value);
			CASE(map_set, what, .fd = fd, .prepare = prepare_crowd, .call = crowd, .fresh = &fresh);
		}
		map = new_map(fd, KPL_MAP_HASH, sizes[i].key, sizes[i].value);
		sprintf(what, "%u to %u", sizes[i].key, sizes[i].value);
		CASE(map_get, what, .fd = fd, .call = access, .a = map);
		CASE(map_set, what, .fd = fd, .call = access, .a = map);
		CASE(map_get, "found", .fd = fd, .call = access, .a = map);
		CASE(map_add, what, .fd = fd, .call = add, .a = map, .b = 16);
		CASE(map_set, "found", .fd = fd, .call = access, .a = map);
		CASE(map_set, "to the end", .fd = fd, .call = access, .a = map, .b = 32);
		CASE(map_set, "to the end", .fd = fd, .call = access, .a = map, .b = 48);
		CASE(map_set, "full", .fd = fd, .call = access, .a = map, .b = 64);
		CASE(map_delete, what, .fd = fd, .call = access, .a = map);
	}
}

void measure_maps(void)
{
	int fd = session();

	measure_aggregations(fd);
	measure_hashes(fd);
}
