/* SPDX-License-Identifier: MIT */
/* The rows for tests in the module: a helper, an aggregation and a kind of probe. */
#define _GNU_SOURCE
#include "../abi/kit.h"

#include <sys/mman.h>

/* It hits once each time it is armed. */
static void kind_of_probe(int fd)
{
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	unsigned id = attach_one(fd, probe_at("vfs_read", KPL_PROBE_TEST, prog, KPL_NO_PROG));
	struct kpl_probe_stats counted;

	EQ(control(fd, KPL_CTL_DISABLE, id), 0);
	EQ(control(fd, KPL_CTL_ENABLE, id), 0);
	counted = stats(fd, id);
	EQ(counted.state, KPL_STATE_ARMED);
	EQ(counted.entry.hits, 2);
	EQ(counted.entry.handled, 2);
}

int main(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_TEST };
	unsigned id = map_create(fd, &map), i;
	uint64_t *value;

	test_name = "table rows";
	stay_on(0);
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(MOVI(1, 21), CALL(test_twice), EXIT))), 42);
	EQ(map.value_size, 16);
	for (i = 1; i <= 3; i++)
		EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(MAP(2, id), MOVI(3, 0), MOVI(4, 10 * i), CALL(agg_add),
						       RETURN(0)))), 0);
	value = mmap(NULL, map.mmap_size, PROT_READ, MAP_SHARED, fd, map.mmap_off);
	value = (void *)value + sizeof(struct kpl_agg_bank) + sizeof(struct kpl_agg_cell);
	EQ(value[0], 3);
	EQ(value[1], 60);
	kind_of_probe(fd);
	printf("%d failed\n", checks_failed);
	return checks_failed > 0;
}
