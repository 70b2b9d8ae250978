/* SPDX-License-Identifier: MIT */
/* Helpers on maps: small and large keys and values, in full maps, found and not. */
#define _GNU_SOURCE
#include "costs.h"

#include <stdio.h>
#include <sys/ioctl.h>

#define ROOM	64	/* keys of a map */

/* The key is the call's number and the case's, at the start of the instance data. */
static void set_key(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, INSN(BPF_ST | BPF_MEM | BPF_DW, 8, 0, 0, nr + m->b));
}

static void add(struct code *c, const struct measurement *m, unsigned nr)
{
	set_key(c, m, nr);
	put(c, MOV(1, 6));
	put_map(c, 2, m->a);
	put(c, MOV(3, 8));
	put(c, MOVI(4, 12345));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
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
	put(c, MOV(1, 6));
	put_map(c, 2, m->a);
	put(c, MOV(3, 8));
	put(c, MOV(4, 7));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
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
