/* SPDX-License-Identifier: MIT */
/* Maps and programs that are freed while their session lives. */
#define _GNU_SOURCE
#include "kit.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT_PROG(map)	PROG(MAP(2, map), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0))

static int release(int fd, unsigned kind, unsigned id)
{
	struct kpl_free arg = { .kind = kind, .id = id };

	return ioctl(fd, KPL_IOC_FREE, &arg);
}

/* In use from below: the probe keeps the program, the program its map. */
static void freed_in_order(void)
{
	int fd = session();
	uint64_t before = info(fd).memory;
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	unsigned id = map_create(fd, &map);
	int prog = load(fd, KPL_PROG_PRE, COUNT_PROG(id));
	unsigned probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	uint64_t with_probe;

	call(5);
	FAILS(EBUSY, release(fd, KPL_FREE_MAP, id));
	FAILS(EBUSY, release(fd, KPL_FREE_PROG, prog));
	call(5);
	EQ(agg_total(fd, &map, 0), 10);
	EQ(control(fd, KPL_CTL_DETACH, probe), 0);
	FAILS(EBUSY, release(fd, KPL_FREE_MAP, id));
	with_probe = info(fd).memory;
	EQ(release(fd, KPL_FREE_PROG, prog), 0);
	EQ(release(fd, KPL_FREE_MAP, id), 0);
	OK(info(fd).memory < with_probe);
	/* What it was is still told. */
	EQ(stats(fd, probe).entry.hits, 10);
	EQ(stats(fd, probe).state, KPL_STATE_DETACHED);
	FAILS(ENOENT, control(fd, KPL_CTL_ENABLE, probe));
	FAILS(EINVAL, release(fd, KPL_FREE_PROG, prog));
	FAILS(EINVAL, release(fd, KPL_FREE_MAP, id));
	FAILS(EINVAL, release(fd, 2, 0));
	OK(mmap(NULL, map.mmap_size, PROT_READ, MAP_SHARED, fd, map.mmap_off) == MAP_FAILED);
	OK(info(fd).memory < before + 4096);	/* the probe's counters are left */
	close(fd);
}

/* A program can't name what is gone; the lowest number is given again. */
static void numbers_again(void)
{
	int fd = session();
	unsigned first = map_simple(fd, KPL_MAP_COUNT, 0), second = map_simple(fd, KPL_MAP_COUNT, 0);
	struct kpl_prog_load load = { .kind = KPL_PROG_PRE };
	struct kpl_map_create hash = { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 8 };

	EQ(release(fd, KPL_FREE_MAP, first), 0);
	FAILS(EINVAL, load_with(fd, &load, COUNT_PROG(first)));
	EQ(load_with(fd, &load, COUNT_PROG(second)), 0);
	EQ(map_create(fd, &hash), first);
	/* It is what it is now, not what it was. */
	FAILS(EACCES, load_with(fd, &load, COUNT_PROG(first)));
	close(fd);
}

/* As many as one likes, one after the other; what is mapped stays readable, and counts. */
static void again_and_again(void)
{
	int fd = session(), i;
	uint64_t before = info(fd).memory;
	volatile char *kept = NULL;
	size_t size = 0;

	for (i = 0; i < 2 * KPL_MAX_PROGS; i++) {
		struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
		unsigned id = map_create(fd, &map);
		int prog = load(fd, KPL_PROG_PRE, COUNT_PROG(id));

		run(fd, prog);
		if (i == 1) {
			size = map.mmap_size;
			kept = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, map.mmap_off);
			OK(kept != MAP_FAILED);
		}
		EQ(release(fd, KPL_FREE_PROG, prog), 0);
		EQ(release(fd, KPL_FREE_MAP, id), 0);
	}
	EQ(kept[size - 1], 0);
	OK(info(fd).memory >= before + size);
	munmap((void *)kept, size);
	EQ(info(fd).memory, before);
	close(fd);
}

/* What a program and a map take beside their instructions and cells: pages of the kernel's, and something for each CPU. */
static void all_is_counted(void)
{
	int fd = session();
	uint64_t before = info(fd).memory, cpus = sysconf(_SC_NPROCESSORS_CONF);

	load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	OK(info(fd).memory >= before + 4096 + 4 * cpus);
	before = info(fd).memory;
	map_simple(fd, KPL_MAP_COUNT, 0);
	/* A page of cells for each, and where they lie. */
	OK(info(fd).memory >= before + cpus * (4096 + 160));
	close(fd);
}

const struct test free_tests[] = {
	{ "all is counted", all_is_counted },
	{ "freed in order", freed_in_order },
	{ "numbers of what was freed", numbers_again },
	{ "made and freed again and again", again_and_again },
	{ NULL, NULL },
};
