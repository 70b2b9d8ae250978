/* SPDX-License-Identifier: MIT */
/* CPUs that come and go: who has memory when, what mappings show, and what is lost where there is none. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERCENT	"/sys/module/kprobe_lua/parameters/memory_percent"
#define SIZE	65536	/* of a ring */

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* CPU 1; who runs there goes elsewhere. */
static void cpu_on(int on)
{
	stay_on(0);
	write_to("/sys/devices/system/cpu/cpu1/online", on ? "1" : "0");
}

/* ------------------------------------------------------------------- a session */

static const struct kpl_map_create kinds[] = {
	{ .kind = KPL_MAP_COUNT },
	{ .kind = KPL_MAP_SUM },
	{ .kind = KPL_MAP_STATS },
	{ .kind = KPL_MAP_HIST },
	{ .kind = KPL_MAP_LHIST, .lo = 0, .hi = 100, .step = 10 },
	{ .kind = KPL_MAP_COUNT, .key_size = 8, .max_entries = 1000 },
	{ .kind = KPL_MAP_HIST, .key_size = 16, .max_entries = 100 },
};
#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

struct taken {
	int fd, prog, up;	/* CPU 1 has memory */
	struct kpl_ring_setup ring;
	struct kpl_map_create map[KINDS];
	/* Of CPU 1. */
	volatile struct kpl_ring_head *head;
	volatile struct kpl_ring_ctl *ctl;
	char *area[KINDS];	/* of all */
};

static volatile struct kpl_agg_bank *bank_of(const struct taken *t, unsigned map, unsigned cpu, unsigned bank)
{
	return (void *)(t->area[map] + (cpu * t->map[map].nr_banks + bank) * t->map[map].bank_size);
}

/* The words of the first cell's value, added. */
static uint64_t sum_of(const struct taken *t, unsigned map, unsigned cpu, unsigned bank)
{
	volatile struct kpl_agg_bank *at = bank_of(t, map, cpu, bank);
	volatile uint64_t *value = (void *)((char *)(at + 1) + sizeof(struct kpl_agg_cell) + t->map[map].key_size);
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < t->map[map].value_size / 8; i++)
		sum += value[i];
	return sum;
}

/* Adds 1 to each map, with key 7, and sends a record of a word. */
static int all_prog(int fd)
{
	static struct bpf_insn insns[16 + 8 * KINDS];
	const struct bpf_insn first[] = { MOV(7, 1), STI(10, -16, 7), STI(10, -8, 7) };
	const struct bpf_insn last[] = {
		MOV(1, 7), MOVI(2, 9), MOVI(3, 8), MOVI(4, 0), CALL(rec_begin), JNEI(0, 0, 2), RETURN(0),
		MOV(6, 0), STI(6, 0, 5), MOV(1, 7), MOV(2, 6), CALL(rec_end), RETURN(0),
	};
	unsigned nr = sizeof(first) / sizeof(*first), i;

	memcpy(insns, first, sizeof(first));
	for (i = 0; i < KINDS; i++) {
		const struct bpf_insn add[] = {
			MOV(1, 7), MAP(2, i), MOV(3, 10), ADDI(3, -16), MOVI(4, 1), CALL(agg_add),
		};

		memcpy(insns + nr, add, sizeof(add));
		if (!kinds[i].key_size) {
			insns[nr + 3] = MOVI(3, 0);
			insns[nr + 4] = MOVI(3, 0);
		}
		nr += sizeof(add) / sizeof(*add);
	}
	memcpy(insns + nr, last, sizeof(last));
	return load(fd, KPL_PROG_PRE, insns, nr + sizeof(last) / sizeof(*last));
}

static struct taken take(void)
{
	struct taken t = { .fd = session(), .ring.size = SIZE };
	unsigned i;

	EQ(ioctl(t.fd, KPL_IOC_RING_SETUP, &t.ring), 0);
	t.head = mmap(NULL, 4096 + 2 * SIZE, PROT_READ, MAP_SHARED, t.fd, t.ring.data_off + t.ring.data_stride);
	t.ctl = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd, t.ring.ctl_off + t.ring.ctl_stride);
	OK(t.head != MAP_FAILED && t.ctl != MAP_FAILED);
	for (i = 0; i < KINDS; i++) {
		t.map[i] = kinds[i];
		EQ(map_create(t.fd, &t.map[i]), i);
		t.area[i] = mmap(NULL, t.map[i].mmap_size, PROT_READ, MAP_SHARED, t.fd, t.map[i].mmap_off);
		OK(t.area[i] != MAP_FAILED);
	}
	t.prog = all_prog(t.fd);
	OK(t.prog >= 0);
	return t;
}

static void give_back(struct taken *t)
{
	unsigned i;

	munmap((void *)t->head, 4096 + 2 * SIZE);
	munmap((void *)t->ctl, 4096);
	for (i = 0; i < KINDS; i++)
		munmap(t->area[i], t->map[i].mmap_size);
	close(t->fd);
}

static void work(const struct taken *t, int cpu, unsigned n)
{
	stay_on(cpu);
	while (n--)
		EQ(run(t->fd, t->prog), 0);
	stay_on(0);
}

/* CPU 1 has done so much; what `bank` of each map shows of it. */
static void shows(const struct taken *t, unsigned bank, uint64_t sent, uint64_t added)
{
	unsigned i;

	EQ(t->head->sent, sent);
	EQ(t->head->lost, 0);
	EQ(t->head->size, t->up ? SIZE : 0);
	EQ(t->head->head, sent * 32);
	for (i = 0; i < KINDS; i++)
		/* Of stats: n, sum, min and max. */
		EQ(sum_of(t, i, 1, bank), kinds[i].kind == KPL_MAP_STATS && added ? 2 * added + 2 : added);
}

static uint64_t lost_updates(const struct taken *t, unsigned map)
{
	struct kpl_map_info mi = { .id = map };

	EQ(ioctl(t->fd, KPL_IOC_MAP_INFO, &mi), 0);
	return mi.lost;
}

/* In a process of its own, which this ends: the control page of a ring without memory. */
static void touch_nothing(void)
{
	struct taken t = take();

	signal(SIGBUS, SIG_DFL);
	if (!checks_failed)
		t.ctl->tail = 0;
}

/* ----------------------------------------------------------------------- tests */

/* A CPU that is not up takes nothing; it has all, in mappings that are there, from when it comes, and keeps it. */
static void cpu_comes_later(void)
{
	struct kpl_map_clear clear = { .id = 0 };
	uint64_t both, one, plain;
	struct taken t = take();
	pid_t child;
	int status, fd;
	unsigned i;

	both = info(t.fd).memory;
	give_back(&t);
	cpu_on(0);
	fd = session();
	plain = info(fd).memory;
	close(fd);
	t = take();
	one = info(t.fd).memory;
	OK(both - one > SIZE);
	/* What CPUs that are not up take beside: no pages. */
	OK(one - plain < both - one + 65536);
	shows(&t, 0, 0, 0);
	work(&t, 0, 10);
	cpu_on(1);
	t.up = 1;
	EQ(info(t.fd).memory, both);
	shows(&t, 0, 0, 0);
	work(&t, 1, 100);
	shows(&t, 0, 100, 100);
	EQ(sum_of(&t, 0, 0, 0), 10);
	t.ctl->tail = t.head->head;
	for (i = 0; i < KINDS; i++)
		EQ(lost_updates(&t, i), 0);
	/* It goes: what it has counted stays. */
	cpu_on(0);
	EQ(info(t.fd).memory, both);
	shows(&t, 0, 100, 100);
	for (i = 0; i < KINDS; i++) {
		clear.id = i;
		EQ(ioctl(t.fd, KPL_IOC_MAP_CLEAR, &clear), 0);
		EQ(clear.active, 1);
	}
	cpu_on(1);
	EQ(info(t.fd).memory, both);
	work(&t, 1, 5);
	shows(&t, 1, 105, 5);
	/* What was thrown out of the tables comes again. */
	for (i = 0; i < KINDS; i++)
		EQ(madvise(t.area[i], t.map[i].mmap_size, MADV_DONTNEED), 0);
	shows(&t, 0, 105, 100);
	shows(&t, 1, 105, 5);
	EQ(info(t.fd).lost_without, 0);
	give_back(&t);

	/* One that came after a clear begins where the others are. */
	cpu_on(0);
	t = take();
	for (i = 0; i < KINDS; i++) {
		clear.id = i;
		EQ(ioctl(t.fd, KPL_IOC_MAP_CLEAR, &clear), 0);
	}
	cpu_on(1);
	t.up = 1;
	work(&t, 1, 7);
	shows(&t, 1, 7, 7);
	shows(&t, 0, 7, 0);
	give_back(&t);

	cpu_on(0);
	fflush(stdout);
	child = fork();
	if (!child) {
		touch_nothing();
		_exit(0);
	}
	waitpid(child, &status, 0);
	OK(WIFSIGNALED(status));
	EQ(WTERMSIG(status), SIGBUS);
	cpu_on(1);
}

/* Without memory the CPU comes up all the same; what it records is counted as lost, until it has some. */
static void cpu_without_memory(void)
{
	struct taken t;
	unsigned i;

	cpu_on(0);
	t = take();
	write_to(PERCENT, "0");
	cpu_on(1);
	write_to(PERCENT, "25");
	work(&t, 0, 3);
	work(&t, 1, 100);
	EQ(info(t.fd).lost_without, 100);
	shows(&t, 0, 0, 0);
	for (i = 0; i < KINDS; i++) {
		/* A sum alone does not tell how many were added. */
		EQ(lost_updates(&t, i), kinds[i].kind == KPL_MAP_SUM ? 1 : 100);
		EQ(bank_of(&t, i, 0, 0)->used, 1);
		EQ(bank_of(&t, i, 0, 0)->lost, 0);
	}
	cpu_on(0);
	cpu_on(1);
	t.up = 1;
	work(&t, 1, 50);
	shows(&t, 0, 50, 50);
	EQ(info(t.fd).lost_without, 100);
	EQ(lost_updates(&t, 0), 100);
	give_back(&t);
}

/* What is mapped of a map that is gone stays as it is when a CPU comes, and is not another map's. */
static void mapping_outlives(void)
{
	struct kpl_free prog = { .kind = KPL_FREE_PROG }, map = { .kind = KPL_FREE_MAP };
	struct kpl_map_create again = kinds[0];
	struct taken t;
	char *area;

	cpu_on(0);
	t = take();
	prog.id = t.prog;
	work(&t, 0, 10);
	EQ(sum_of(&t, 0, 1, 0), 0);
	EQ(ioctl(t.fd, KPL_IOC_FREE, &prog), 0);
	EQ(ioctl(t.fd, KPL_IOC_FREE, &map), 0);
	EQ(map_create(t.fd, &again), 0);
	area = mmap(NULL, again.mmap_size, PROT_READ, MAP_SHARED, t.fd, again.mmap_off);
	t.prog = all_prog(t.fd);
	cpu_on(1);
	work(&t, 1, 20);
	EQ(sum_of(&t, 0, 0, 0), 10);
	EQ(sum_of(&t, 0, 1, 0), 0);
	EQ(sum_of(&t, 1, 0, 0), 10);
	EQ(sum_of(&t, 1, 1, 0), 20);
	munmap(t.area[0], t.map[0].mmap_size);
	t.area[0] = area;
	EQ(sum_of(&t, 0, 0, 0), 0);
	EQ(sum_of(&t, 0, 1, 0), 20);
	give_back(&t);
}

/* On and off, while sessions come and go, and what they have mapped is read, dropped and moved. */
static void cpus_under_sessions(void)
{
	pid_t child;
	unsigned n, i, cpu;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		for (n = 0; n < 20; n++)
			cpu_on(n % 2);
		_exit(checks_failed);
	}
	while (!waitpid(child, &status, WNOHANG)) {
		struct taken t = take();
		struct kpl_map_clear clear = { .id = 5 };
		uint64_t before = sum_of(&t, 0, 0, 0) + sum_of(&t, 0, 1, 0);
		void *moved;

		EQ(before, 0);
		for (n = 0; n < 50; n++)
			EQ(run(t.fd, t.prog), 0);
		for (i = 0; i < KINDS; i++) {
			for (cpu = 0; cpu < 2; cpu++)
				OK(bank_of(&t, i, cpu, 0)->used <= 1);
			EQ(madvise(t.area[i], t.map[i].mmap_size, MADV_DONTNEED), 0);
		}
		EQ(sum_of(&t, 0, 0, 0) + sum_of(&t, 0, 1, 0), 50);
		EQ(ioctl(t.fd, KPL_IOC_MAP_CLEAR, &clear), 0);
		moved = mremap(t.area[6], t.map[6].mmap_size, t.map[6].mmap_size, MREMAP_MAYMOVE | MREMAP_FIXED,
			       mmap(NULL, t.map[6].mmap_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		OK(moved != MAP_FAILED);
		t.area[6] = moved;
		EQ(sum_of(&t, 6, 0, 0) + sum_of(&t, 6, 1, 0), 50);
		EQ(info(t.fd).lost_without, 0);
		munmap(t.area[5], 4096);	/* a part of it */
		give_back(&t);
	}
	EQ(status, 0);
	EQ(sysconf(_SC_NPROCESSORS_ONLN), 2);
}

/* ------------------------------------------------------------- rings that grow */

static int spare(int fd, unsigned size, struct kpl_ring_spare *made)
{
	*made = (struct kpl_ring_spare) { .size = size };
	return ioctl(fd, KPL_IOC_RING_SPARE, made);
}

static int offer(int fd, unsigned nr)
{
	struct kpl_ring_offer it = { .nr = nr };

	return ioctl(fd, KPL_IOC_RING_OFFER, &it);
}

static volatile struct kpl_ring_head *head_of(int fd, const struct kpl_ring_spare *made)
{
	volatile struct kpl_ring_head *head = mmap(NULL, 4096 + 2 * made->size, PROT_READ, MAP_SHARED, fd, made->data_off);

	OK(head != MAP_FAILED);
	return head;
}

/*
 * A CPU whose ring is full takes the last one that was offered, if it is larger; the old one stays, with what is in it, and that of
 * the other CPU is as it was.
 */
static void rings_grow(void)
{
	const unsigned full = SIZE / 32;
	volatile struct kpl_ring_head *head, *second;
	struct kpl_ring_spare made, never, larger;
	struct taken t;
	int fd = session();

	FAILS(ENXIO, spare(fd, 2 * SIZE, &made));	/* no rings yet */
	FAILS(EINVAL, offer(fd, 0));
	close(fd);
	t = take();
	t.up = 1;
	FAILS(EINVAL, spare(t.fd, SIZE, &made));
	FAILS(EINVAL, spare(t.fd, 3 * SIZE, &made));
	FAILS(E2BIG, spare(t.fd, 2 * KPL_MAX_RING, &made));
	FAILS(EINVAL, ioctl(t.fd, KPL_IOC_RING_SPARE, &(struct kpl_ring_spare) { .size = 2 * SIZE, .reserved = 1 }));
	FAILS(EINVAL, offer(t.fd, 0));
	EQ(spare(t.fd, 2 * SIZE, &never), 0);
	EQ(spare(t.fd, 2 * SIZE, &made), 0);
	EQ(spare(t.fd, 4 * SIZE, &larger), 0);
	head = head_of(t.fd, &made);
	second = head_of(t.fd, &larger);
	EQ(head->cpu, KPL_NO_CPU);
	EQ(head->size, 2 * SIZE);
	/* Nothing is on offer. */
	work(&t, 1, full + 3);
	EQ(t.head->sent, full + 3);
	EQ(t.head->lost, 3);
	FAILS(EINVAL, ioctl(t.fd, KPL_IOC_RING_OFFER, &(struct kpl_ring_offer) { .nr = made.nr, .reserved = 1 }));
	FAILS(EINVAL, offer(t.fd, larger.nr + 1));
	EQ(offer(t.fd, made.nr), 0);
	FAILS(EINVAL, offer(t.fd, made.nr));
	EQ(head->cpu, KPL_NO_CPU);
	work(&t, 1, 5);
	EQ(head->cpu, 1);
	EQ(head->sent, 5);
	EQ(head->head, 5 * 32);
	EQ(head->lost, 0);
	EQ(t.head->sent, full + 3);
	EQ(t.head->head, SIZE);
	EQ(t.head->size, SIZE);
	/* What is no larger than the ring that is full is not taken. */
	EQ(offer(t.fd, never.nr), 0);
	work(&t, 1, 2 * full);
	EQ(head->sent, 2 * full + 5);
	EQ(head->lost, 5);
	EQ(offer(t.fd, larger.nr), 0);
	work(&t, 1, 1);
	EQ(head->sent, 2 * full + 5);
	EQ(second->cpu, 1);
	EQ(second->sent, 1);
	/* More than there is; the ring after the last one, which there is not. */
	FAILS(EINVAL, mmap(NULL, 8192 + 4 * SIZE, PROT_READ, MAP_SHARED, t.fd, made.data_off) == MAP_FAILED ? -1 : 0);
	FAILS(EINVAL, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, t.fd,
			   larger.ctl_off + (made.data_off - made.ctl_off) / KPL_MAX_SPARES) == MAP_FAILED ? -1 : 0);
	munmap((void *)head, 4096 + 4 * SIZE);
	munmap((void *)second, 4096 + 8 * SIZE);
	give_back(&t);
}

/* The cost bound may end a handler between a record's begin and its end: it holds nothing back. */
static void record_left(void)
{
	struct kpl_label label = { .pc = 8, .type = { [6] = KPL_T_REC }, .rec_pending = 1, .rec_size = 8 };
	struct kpl_prog_load l = {
		.kind = KPL_PROG_PRE, .labels = (uintptr_t)&label, .nr_labels = 1, .budget = 5000,
	};
	struct taken t = take();
	int loops = load_with(t.fd, &l, PROG(MOVI(2, 9), MOVI(3, 8), MOVI(4, 0), CALL(rec_begin), JNEI(0, 0, 2),
					     RETURN(0), MOV(6, 0), JA(-1)));

	if (loops < 0)
		printf("%s: refused: %u at %u\n", test_name, l.reject, l.reject_pc);
	OK(loops >= 0);
	stay_on(1);
	EQ(run(t.fd, loops) & 0xff, KPL_STOP_BUDGET);
	stay_on(0);
	EQ(t.head->head, 0);
	EQ(t.head->reserved_head, 0);
	t.up = 1;
	work(&t, 1, 1);
	EQ(t.head->head, 32);
	give_back(&t);
}

/* Interrupts of CPU 1 by which hits wake somebody. */
static uint64_t wakes(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long long on[2] = { 0, 0 };
	char line[1024];

	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " IWI: %llu %llu", &on[0], &on[1]) == 2)
			break;
	fclose(f);
	return on[1];
}

static uint64_t microseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

/* Each record would wake the consumer, which has read the one before: the interrupts are 100 us apart. */
static void wakes_are_apart(void)
{
	struct taken t = take();
	uint64_t before, began, took;
	unsigned i;

	attach_one(t.fd, probe_at(CALLED, KPL_PROBE_FTRACE, t.prog, KPL_NO_PROG));
	stay_on(1);
	before = wakes();
	began = microseconds();
	for (i = 0; i < 5000; i++) {
		call(1);
		t.ctl->tail = t.head->head;
	}
	took = microseconds() - began;
	EQ(t.head->sent, 5000);
	OK(wakes() > before);
	OK(wakes() - before <= took / 100 + 10);
	give_back(&t);
	stay_on(0);
}

const struct test cpu_tests[] = {
	{ "wakes_are_apart", wakes_are_apart },
	{ "record_left", record_left },
	{ "rings_grow", rings_grow },
	{ "cpu_comes_later", cpu_comes_later },
	{ "cpu_without_memory", cpu_without_memory },
	{ "mapping_outlives", mapping_outlives },
	{ "cpus_under_sessions", cpus_under_sessions },
	{}
};
