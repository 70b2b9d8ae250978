/* SPDX-License-Identifier: MIT */
/* What is given back while its session lives: maps and programs that are freed, what detached probes needed. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
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

/* A copy of this program in a file system of its own, open for reading. */
static int own_file(const char *dir)
{
	int self = open("/proc/self/exe", O_RDONLY), copy;
	struct stat st;
	char path[64];

	mkdir(dir, 0700);
	EQ(mount("none", dir, "tmpfs", 0, NULL), 0);
	snprintf(path, sizeof(path), "%s/program", dir);
	copy = open(path, O_CREAT | O_WRONLY, 0700);
	EQ(fstat(self, &st), 0);
	EQ(sendfile(copy, self, NULL, st.st_size), st.st_size);
	close(copy);
	close(self);
	return open(path, O_RDONLY);
}

/* A detached probe of any kind keeps what it has counted, and no more. */
static void nothing_but_counts(void)
{
	static const char dir[] = "detached";
	int fd = session(), file = own_file(dir);
	int pre = load(fd, KPL_PROG_PRE, PROG(RETURN(0))), entry = load(fd, KPL_PROG_ENTRY, PROG(RETURN(0)));
	int ret = load(fd, KPL_PROG_RET, PROG(RETURN(0)));
	struct kpl_attach list[] = {
		probe_at(CALLED, KPL_PROBE_KPROBE, pre, KPL_NO_PROG),
		probe_at(CALLED, KPL_PROBE_FTRACE, pre, KPL_NO_PROG),
		probe_at(CALLED, KPL_PROBE_DIRECT, entry, ret),
		probe_at(CALLED, KPL_PROBE_KRETPROBE, entry, ret),
		probe_at("jiffies", KPL_PROBE_WATCH, load(fd, KPL_PROG_WATCH, PROG(RETURN(0))), KPL_NO_PROG),
		{ .kind = KPL_PROBE_EVENT, .event = KPL_EVENT_PROFILE, .period = 100, .prog = { pre, KPL_NO_PROG, KPL_NO_PROG } },
		{ .kind = KPL_PROBE_UPROBE, .fd = file, .addr = 4096, .prog = { pre, KPL_NO_PROG, KPL_NO_PROG } },
		{ .kind = KPL_PROBE_URETPROBE, .fd = file, .addr = 8192, .prog = { entry, ret, KPL_NO_PROG } },
	};
	const unsigned nr = sizeof(list) / sizeof(list[0]);
	struct kpl_attach together[3];
	uint64_t before, all, of_one = 0;
	unsigned i;

	list[4].event = KPL_EVENT_WRITE;
	list[4].len = 8;
	list[3].maxactive = list[7].maxactive = 4096;
	control(fd, KPL_CTL_DETACH, attach_one(fd, list[0])); /* the session's room for them */
	before = info(fd).memory;
	all = info(fd).memory_all;
	for (i = 0; i < nr; i++) {
		unsigned id = attach_one(fd, list[i]);

		call(3);
		EQ(control(fd, KPL_CTL_DETACH, id), 0);
		EQ(stats(fd, id).state, KPL_STATE_DETACHED);
		if (i < 4)
			EQ(stats(fd, id).entry.hits, 3);
		EQ(control(fd, KPL_CTL_DETACH, id), 0);
		if (!i)
			of_one = info(fd).memory - before;
		EQ(info(fd).memory, before + (i + 1) * of_one);
		WAIT(info(fd).memory_all == all + (i + 1) * of_one);	/* some of it after a grace period */
	}
	/* Those that share a stub, one after the other. */
	together[0] = together[1] = together[2] = list[2];
	together[1].addr = symbol("__x64_sys_getpgid");
	together[2].addr = symbol("__x64_sys_getsid");
	EQ(attach(fd, together, 3), 0);
	for (i = 0; i < 3; i++)
		EQ(control(fd, KPL_CTL_DETACH, together[i].id), 0);
	EQ(info(fd).memory, before + (nr + 3) * of_one);
	close(file);
	EQ(umount(dir), 0);
	close(fd);
}

const struct test free_tests[] = {
	{ "all is counted", all_is_counted },
	{ "freed in order", freed_in_order },
	{ "numbers of what was freed", numbers_again },
	{ "made and freed again and again", again_and_again },
	{ "detached: nothing but counts", nothing_but_counts },
	{ NULL, NULL },
};
