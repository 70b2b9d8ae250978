/* SPDX-License-Identifier: MIT */
/* Aggregations, shared maps, rings, and the helpers that read memory. */
#define _GNU_SOURCE
#include "kit.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ------------------------------------------------------------- aggregations */

static char *agg_area(int fd, const struct kpl_map_create *map)
{
	char *area = mmap(NULL, map->mmap_size, PROT_READ, MAP_SHARED, fd, map->mmap_off);

	OK(area != MAP_FAILED);
	return area;
}

static struct kpl_agg_bank *bank_of(char *area, const struct kpl_map_create *map, unsigned cpu, unsigned bank)
{
	return (void *)(area + (cpu * map->nr_banks + bank) * map->bank_size);
}

static struct kpl_agg_cell *cell_of(struct kpl_agg_bank *bank, const struct kpl_map_create *map, unsigned nr)
{
	return (void *)((char *)(bank + 1) + nr * map->cell_size);
}

static int add_prog(int fd, unsigned map, int64_t n)
{
	return load(fd, KPL_PROG_PRE, PROG(MAP(2, map), MOVI(3, 0), IMM64(4, n), CALL(agg_add), EXIT));
}

static const int64_t added[] = { 5, -3, 0, 1, 1024, 1023, INT64_MAX, INT64_MIN, 40, 100, 99 };
#define NR_ADDED (sizeof(added) / sizeof(added[0]))

static void all_kinds(void)
{
	static const struct {
		struct kpl_map_create create;
		unsigned words;
		struct { unsigned at; int64_t value; } expect[8];
	} rows[] = {
		{ { .kind = KPL_MAP_COUNT }, 1, { { 0, 5 - 3 + 1 + 1024 + 1023 - 1 + 239 } } },
		{ { .kind = KPL_MAP_SUM }, 1, { { 0, 5 - 3 + 1 + 1024 + 1023 - 1 + 239 } } },
		{ { .kind = KPL_MAP_AVG }, 2, { { 0, NR_ADDED }, { 1, 5 - 3 + 1 + 1024 + 1023 - 1 + 239 } } },
		{ { .kind = KPL_MAP_MIN }, 2, { { 0, NR_ADDED }, { 1, INT64_MIN } } },
		{ { .kind = KPL_MAP_MAX }, 2, { { 0, NR_ADDED }, { 1, INT64_MAX } } },
		{ { .kind = KPL_MAP_STATS }, 4, { { 0, NR_ADDED }, { 1, 5 - 3 + 1 + 1024 + 1023 - 1 + 239 },
						   { 2, INT64_MIN }, { 3, INT64_MAX } } },
		{ { .kind = KPL_MAP_HIST }, 66, { { 0, 2 }, { 1, 1 }, { 2, 1 }, { 4, 1 }, { 7, 1 }, { 8, 2 },
						  { 11, 1 }, { 12, 1 } } },
		{ { .kind = KPL_MAP_LHIST, .lo = 0, .hi = 100, .step = 10 }, 12,
		  { { 0, 2 }, { 1, 3 }, { 5, 1 }, { 10, 1 }, { 11, 4 } } },
		/* From the smallest number to the largest there are 2^64 - 1 steps. */
		{ { .kind = KPL_MAP_LHIST, .lo = INT64_MIN, .hi = INT64_MIN + 2, .step = 1 }, 4,
		  { { 1, 1 }, { 3, NR_ADDED - 1 } } },
	};
	unsigned row, i;

	stay_on(0);
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		int fd = session(), before = checks_failed;
		struct kpl_map_create map = rows[row].create;
		unsigned id = map_create(fd, &map);
		char *area = agg_area(fd, &map);
		struct kpl_agg_bank *bank = bank_of(area, &map, 0, 0);
		int64_t *value = (int64_t *)(cell_of(bank, &map, 0) + 1);
		int64_t seen = 0, expected = 0;

		EQ(map.value_size, rows[row].words * 8);
		EQ(map.nr_cells, 1);
		EQ(bank->used, 1);
		for (i = 0; i < NR_ADDED; i++)
			EQ(run(fd, add_prog(fd, id, added[i])), 1);
		for (i = 0; i < 8 && (i == 0 || rows[row].expect[i].at); i++) {
			EQ(value[rows[row].expect[i].at], rows[row].expect[i].value);
			expected += rows[row].expect[i].value;
		}
		if (map.kind == KPL_MAP_LHIST) {
			for (i = 0; i < rows[row].words; i++)
				seen += value[i];
			EQ(seen, expected);
		}
		EQ(cell_of(bank, &map, 0)->seq % 2, 0);
		if (checks_failed != before)
			printf("  in row %u\n", row);
		munmap(area, map.mmap_size);
		close(fd);
	}
}

/* Keys of two words; more keys than there is room for; clear. */
static void keyed(void)
{
	int fd = session(), prog;
	struct kpl_map_create map = { .kind = KPL_MAP_SUM, .key_size = 16, .max_entries = 100 };
	unsigned id = map_create(fd, &map), i, n;
	char *area = agg_area(fd, &map);
	struct kpl_agg_bank *bank = bank_of(area, &map, 0, 0);
	struct kpl_map_clear clear = { .id = id };
	struct kpl_hit hit = {};
	struct kpl_prog_run r = { .hit = (uintptr_t)&hit };

	stay_on(0);
	prog = load(fd, KPL_PROG_PRE, PROG(LD(6, 1, HIT(func)), ST(10, -16, 6), STI(10, -8, 77), MAP(2, id), MOV(3, 10),
					   ADDI(3, -16), MOV(4, 6), CALL(agg_add), EXIT));
	r.id = prog;
	for (n = 0; n < 3; n++) {
		for (i = 0; i < 120; i++) {
			hit.func = i;
			EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
			EQ(r.result, i < 100);
		}
	}
	EQ(bank->used, 100);
	EQ(bank->lost, 60);
	for (i = 0; i < 100; i++) {
		struct kpl_agg_cell *cell = cell_of(bank, &map, i);
		uint64_t *key = (uint64_t *)(cell + 1);

		OK(cell->hash != 0);
		EQ(key[0], i);
		EQ(key[1], 77);
		EQ(key[2], i * 3);
	}
	EQ(ioctl(fd, KPL_IOC_MAP_CLEAR, &clear), 0);
	EQ(clear.bank, 0);
	EQ(clear.active, 1);
	EQ(bank->used, 100);
	EQ(bank_of(area, &map, 0, 1)->used, 0);
	EQ(bank_of(area, &map, 0, 1)->epoch, 1);
	hit.func = 5;
	EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
	EQ(bank_of(area, &map, 0, 1)->used, 1);
	EQ(((uint64_t *)(cell_of(bank_of(area, &map, 0, 1), &map, 0) + 1))[2], 5);
	EQ(ioctl(fd, KPL_IOC_MAP_CLEAR, &clear), 0);
	EQ(clear.bank, 1);
	EQ(bank->used, 0);
	EQ(bank->lost, 0);
	EQ(bank->epoch, 2);
	close(fd);
}

/* -------------------------------------------------------------- shared map */

static int map_op(int fd, unsigned op, uint64_t *key, uint64_t *value, uint64_t *cursor)
{
	struct kpl_map_op o = {
		.op = op, .key = (uintptr_t)key, .value = (uintptr_t)value, .cursor = cursor ? *cursor : 0,
	};
	int err = ioctl(fd, KPL_IOC_MAP_OP, &o);

	if (cursor)
		*cursor = o.cursor;
	return err;
}

/* Keys that a string of at most 16 bytes ends: what stands behind it tells no keys apart, and is not kept. */
static void keyed_by_strings(unsigned numbers)
{
	int fd = session(), prog, words = numbers + 3;
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT, .key_size = 8 * words, .key_string = numbers + 1 };
	unsigned id = map_create(fd, &map), n;
	struct kpl_agg_bank *bank = bank_of(agg_area(fd, &map), &map, 0, 0);
	struct kpl_hit hit = {};
	struct kpl_prog_run r = { .hit = (uintptr_t)&hit };
	/* The length, what stands in the second word of text, and how many keys there are then. */
	static const struct { uint64_t len, text, keys; } adds[] = {
		{ 8, 1, 1 }, { 8, 2, 1 }, { 8, 0, 1 }, { 9, 1, 2 }, { 9, 2, 3 }, { 16, 1, 4 }, { 0, 3, 5 }, { 0, 4, 5 },
		{ UINT32_MAX, 1, 6 }, { UINT32_MAX, 2, 7 }, { 8, 3, 7 }, { 9, 2, 7 },
	};
	uint64_t *key;

	stay_on(0);
	prog = load(fd, KPL_PROG_PRE, PROG(LD(6, 1, HIT(func)), LD(7, 1, HIT(addr)), STI(10, -32, 5), ST(10, -24, 7),
					   STI(10, -16, 0x41414141), ST(10, -8, 6), MAP(2, id), MOV(3, 10),
					   ADDI(3, -8 * words), MOVI(4, 1), CALL(agg_add), EXIT));
	r.id = prog;
	for (n = 0; n < sizeof(adds) / sizeof(*adds); n++) {
		hit.addr = adds[n].len;
		hit.func = adds[n].text;
		EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
		EQ(r.result, 1);
		EQ(bank->used, adds[n].keys);
	}
	key = (uint64_t *)(cell_of(bank, &map, 0) + 1);
	EQ(key[words - 1], 0);
	EQ(key[words], 4);
	map = (struct kpl_map_create) { .kind = KPL_MAP_COUNT, .key_size = 24, .key_string = 4 };
	FAILS(EINVAL, ioctl(fd, KPL_IOC_MAP_CREATE, &map));
	close(fd);
}

/* How many of 100 keys find no place: all of one text, told apart by the upper half of the length's word alone. */
static uint64_t headers_lost(unsigned words)
{
	int fd = session(), prog;
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT, .key_size = 8 * words, .key_string = 1, .max_entries = 100 };
	unsigned id = map_create(fd, &map), n;
	struct kpl_agg_bank *bank = bank_of(agg_area(fd, &map), &map, 0, 0);
	struct kpl_hit hit = {};
	struct kpl_prog_run r = { .hit = (uintptr_t)&hit };
	uint64_t lost;

	stay_on(0);
	prog = load(fd, KPL_PROG_PRE, PROG(LD(6, 1, HIT(addr)), STI(10, -40, 1), STI(10, -32, 1), STI(10, -24, 1), STI(10, -16, 1),
					   STI(10, -8, 1), ST(10, -8 * (int)words, 6), MAP(2, id), MOV(3, 10),
					   ADDI(3, -8 * words), MOVI(4, 1), CALL(agg_add), EXIT));
	r.id = prog;
	for (n = 0; n < 100; n++) {
		hit.addr = (uint64_t)n << 32 | 8;
		EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
	}
	lost = bank->lost;
	EQ(bank->used + lost, 100);
	close(fd);
	return lost;
}

/* They don't share a place.  Each map has a seed of its own; with 1 in 400 such keys do: not with three in a row. */
static void keyed_by_headers(unsigned words)
{
	OK(!headers_lost(words) || !headers_lost(words) || !headers_lost(words));
}

/* By the name of who runs it, in a map that has strings as keys, or just as many bytes. */
static void keyed_by_names(unsigned key_string)
{
	static const char *const names[] = { "", "a", "1234567", "12345678", "123456789", "123456789012345" };
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_SUM, .key_size = KPL_STR_SIZE(KPL_COMM), .key_string = key_string };
	unsigned id = map_create(fd, &map), n, times;
	struct kpl_agg_bank *bank = bank_of(agg_area(fd, &map), &map, 0, 0);
	struct kpl_prog_run r = {
		.id = load(fd, KPL_PROG_PRE, PROG(MAP(2, id), MOVI(3, 7), CALL(agg_add_comm), EXIT)),
	};
	char before[16];

	stay_on(0);
	prctl(PR_GET_NAME, before);
	for (n = 0; n < sizeof(names) / sizeof(*names); n++) {
		uint64_t want[3] = { strlen(names[n]) }, *key;

		strcpy((char *)&want[1], names[n]);
		prctl(PR_SET_NAME, names[n]);
		for (times = 0; times < 3; times++) {
			EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
			EQ(r.result, 1);
		}
		EQ(bank->used, n + 1);
		key = (uint64_t *)(cell_of(bank, &map, n) + 1);
		OK(!memcmp(key, want, sizeof(want)));
		EQ(key[3], 21);
	}
	prctl(PR_SET_NAME, before);
	close(fd);
}

static void keyed_by_a_name(void)
{
	keyed_by_names(0);
	keyed_by_names(1);
}

static void keyed_by_a_string(void)
{
	keyed_by_headers(1);
	keyed_by_headers(2);
	keyed_by_headers(5);
	keyed_by_strings(0);
	keyed_by_strings(1);
}

static void shared_from_user(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 16, .max_entries = 50 };
	struct kpl_map_info mi = {};
	uint64_t key, value[2], cursor = 0, sum = 0, seen = 0;
	unsigned i;

	map_create(fd, &map);
	for (key = 1; key <= 50; key++)
		EQ(map_op(fd, KPL_MAP_SET, &key, (uint64_t[]){ key * 10, key }, NULL), 0);
	FAILS(ENOSPC, map_op(fd, KPL_MAP_SET, &key, (uint64_t[]){ 0, 0 }, NULL));
	key = 7;
	EQ(map_op(fd, KPL_MAP_SET, &key, (uint64_t[]){ 1, 2 }, NULL), 0);
	EQ(map_op(fd, KPL_MAP_GET, &key, value, NULL), 0);
	EQ(value[0], 1);
	EQ(value[1], 2);
	/* What could not be told is not passed over. */
	FAILS(EFAULT, map_op(fd, KPL_MAP_NEXT, &key, NULL, &cursor));
	EQ(cursor, 0);
	while (!map_op(fd, KPL_MAP_NEXT, &key, value, &cursor))
		sum += key, seen++;
	EQ(errno, ENOENT);
	EQ(seen, 50);
	EQ(sum, 50 * 51 / 2);
	for (i = 0; i < 3; i++) {
		for (key = 1; key <= 50; key++)
			EQ(map_op(fd, KPL_MAP_DELETE, &key, NULL, NULL), 0);
		FAILS(ENOENT, map_op(fd, KPL_MAP_DELETE, &key, NULL, NULL));
		FAILS(ENOENT, map_op(fd, KPL_MAP_GET, &key, value, NULL));
		for (key = 1; key <= 50; key++)
			EQ(map_op(fd, KPL_MAP_SET, &key, (uint64_t[]){ key, 0 }, NULL), 0);
	}
	EQ(ioctl(fd, KPL_IOC_MAP_INFO, &mi), 0);
	EQ(mi.entries, 50);
	EQ(mi.lost, 1);
	EQ(mi.busy, 0);
	OK(mi.memory > 50 * 40);
	key = 1;
	FAILS(EFAULT, map_op(fd, KPL_MAP_GET, NULL, value, NULL));
	FAILS(EFAULT, map_op(fd, KPL_MAP_SET, &key, NULL, NULL));
	FAILS(EINVAL, map_op(fd, 4, &key, value, NULL));
	close(fd);
}

/* Handlers on two CPUs add to one key and come and go with others. */
static void shared_from_handlers(void)
{
	int fd = session(), prog, i;
	struct kpl_map_create map = { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 8 };
	unsigned id = map_create(fd, &map), probe;
	struct kpl_map_info mi = {};
	uint64_t key = 42, value = 0;

	prog = load(fd, KPL_PROG_PRE, PROG(MOV(6, 1), STI(10, -8, 42), MAP(2, id), MOV(3, 10), ADDI(3, -8), MOVI(4, 1),
					   CALL(map_add),
					   CALL(tid), ST(10, -16, 0), MOV(1, 6), MAP(2, id), MOV(3, 10), ADDI(3, -16),
					   MOV(4, 10), ADDI(4, -8), CALL(map_set),
					   MOV(1, 6), MAP(2, id), MOV(3, 10), ADDI(3, -16), CALL(map_delete),
					   RETURN(0)));
	probe = attach_one(fd, probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	fflush(stdout);
	for (i = 0; i < 2; i++) {
		if (!fork()) {
			int n;

			stay_on(i);
			for (n = 0; n < 20000; n++)
				syscall(SYS_getpriority, PRIO_PROCESS, 0);
			_exit(0);
		}
	}
	for (i = 0; i < 200; i++)
		map_op(fd, KPL_MAP_GET, &key, &value, NULL);
	wait(NULL);
	wait(NULL);
	EQ(map_op(fd, KPL_MAP_GET, &key, &value, NULL), 0);
	EQ(ioctl(fd, KPL_IOC_MAP_INFO, &mi), 0);
	/* Whoever gave up at a lock is counted; on an idle machine nobody does. */
	OK(value <= 40000 && value + mi.busy >= 40000);
	OK(mi.entries >= 1 && mi.entries <= 1 + mi.busy);
	EQ(stats(fd, probe).entry.handled, 40000);
	close(fd);
}

/* -------------------------------------------------------------------- rings */

struct ring {
	struct kpl_ring_setup setup;
	volatile struct kpl_ring_ctl *ctl;
	volatile struct kpl_ring_head *head;
	char *data;
};

static struct ring ring_open(int fd, unsigned size)
{
	struct ring r = { .setup.size = size };

	EQ(ioctl(fd, KPL_IOC_RING_SETUP, &r.setup), 0);
	r.ctl = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, r.setup.ctl_off);
	r.head = mmap(NULL, 4096 + 2 * size, PROT_READ, MAP_SHARED, fd, r.setup.data_off);
	OK(r.ctl != MAP_FAILED && r.head != MAP_FAILED);
	r.data = (char *)r.head + 4096;
	return r;
}

/* An event of 24 fixed bytes (a number, a string's place, a number) and the command's name. */
static int event_prog(int fd)
{
	struct kpl_prog_load l = { .kind = KPL_PROG_PRE, .scratch_size = 24 };
	int id = load_with(fd, &l, PROG(
		MOV(7, 1), LD(8, 7, HIT(scratch)), MOV(1, 8), MOVI(2, 16), CALL(comm),
		MOV(1, 7), MOVI(2, 9), MOVI(3, 24), MOVI(4, 16), CALL(rec_begin),
		JNEI(0, 0, 2), RETURN(0),
		MOV(6, 0), LD(3, 7, HIT(func)), ST(6, 0, 3), STI(6, 8, 0), STI(6, 16, -5),
		MOV(1, 7), MOV(2, 6), MOVI(3, 8), MOV(4, 8), MOVI(5, 16), CALL(rec_str),
		MOV(1, 7), MOV(2, 6), CALL(rec_end),
		RETURN(0)));

	if (id < 0)
		printf("%s: refused: %u at %u\n", test_name, l.reject, l.reject_pc);
	OK(id >= 0);
	return id;
}

#define EVENT_SIZE	(24 + 24 + 8)

static void emit(int fd, int prog, uint64_t n)
{
	struct kpl_hit hit = { .func = n };
	struct kpl_prog_run r = { .id = prog, .hit = (uintptr_t)&hit };

	EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
	EQ(r.result, 0);
}

static void check_event(const struct ring *r, uint64_t at, uint64_t seq, uint64_t n)
{
	const char *rec = r->data + (at & (r->setup.size - 1));
	const struct kpl_rec *h = (const void *)rec;
	const int64_t *fixed = (const void *)(h + 1);
	const struct kpl_rec_str *str = (const void *)&fixed[1];

	EQ(h->len, EVENT_SIZE);
	EQ(h->event, 9);
	EQ(h->seq, seq);
	OK(h->time > 0);
	EQ(fixed[0], n);
	EQ(fixed[2], -5);
	EQ(str->len, 8);
	OK(!memcmp(rec + str->off, "abi_test", 8));
}

static void events(void)
{
	int fd = session(), prog;
	struct ring r = ring_open(fd, 4096);
	uint64_t n, tail = 0;

	stay_on(0);
	prog = event_prog(fd);
	/* Many times around, one consumed for one produced. */
	for (n = 0; n < 300; n++) {
		emit(fd, prog, n);
		EQ(r.head->head, tail + EVENT_SIZE);
		check_event(&r, tail, n, n);
		tail += EVENT_SIZE;
		r.ctl->tail = tail;
	}
	/* Full: what does not fit is lost, and counted. */
	for (n = 0; n < 100; n++)
		emit(fd, prog, n);
	EQ(r.head->head - tail, 4096 / EVENT_SIZE * EVENT_SIZE);
	EQ(r.head->sent, 400);
	EQ(r.head->lost, 100 - 4096 / EVENT_SIZE);
	for (n = 0; n < 4096 / EVENT_SIZE; n++, tail += EVENT_SIZE)
		check_event(&r, tail, 300 + n, n);
	/* The next one's number shows the gap. */
	r.ctl->tail = tail;
	emit(fd, prog, 1);
	check_event(&r, tail, 400, 1);
	EQ(r.head->reserved_head, r.head->head);
	/* Positions that make no sense mean full. */
	r.ctl->tail = tail + 4096;
	emit(fd, prog, 2);
	r.ctl->tail = UINT64_MAX;
	emit(fd, prog, 2);
	EQ(r.head->sent, 403);
	EQ(r.head->lost, 100 - 4096 / EVENT_SIZE + 2);
	close(fd);
}

/* One event with a kernel string; the status, if that can't be read. */
static uint64_t emit_string(int fd, uint64_t addr, uint32_t limit, uint32_t tail)
{
	int id = load(fd, KPL_PROG_PRE, PROG(
		MOV(7, 1), MOVI(2, 9), MOVI(3, 8), MOVI(4, tail), CALL(rec_begin),
		JNEI(0, 0, 2), RETURN(0),
		MOV(6, 0), MOV(1, 7), MOV(2, 6), MOVI(3, 0), MOVI(4, limit), LD(5, 7, HIT(func)),
		CALL(rec_read_str), JEQI(0, 0, 5),
		MOV(1, 7), MOV(2, 6), CALL(rec_end), RETURN(0),
		MOV(1, 7), MOV(2, 6), CALL(rec_drop), LDW(0, 7, HIT(status)), EXIT));
	struct kpl_hit hit = { .func = addr };
	struct kpl_prog_run r = { .id = id, .hit = (uintptr_t)&hit };

	OK(id >= 0);
	EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
	return r.result;
}

static void strings_of_records(void)
{
	static const char text[] = "Linux version ";
	const uint64_t banner = symbol("linux_banner");
	const size_t fixed = sizeof(struct kpl_rec) + sizeof(struct kpl_rec_str);
	int fd = session();
	struct ring r = ring_open(fd, 4096);
	uint32_t limit, at;
	uint64_t tail = 0;

	stay_on(0);
	OK(banner != 0);
	/* Cut at each limit, from each address: zeros follow up to a multiple of 8. */
	for (limit = 0; limit < 10; limit++) {
		for (at = 0; at < 3; at++) {
			const char *rec = r.data + (tail & (r.setup.size - 1));
			const struct kpl_rec_str *str = (const void *)(rec + sizeof(struct kpl_rec));
			char expected[16] = "";

			memcpy(expected, text + at, limit);
			EQ(emit_string(fd, banner + at, limit, 16), 0);
			EQ(r.head->head - tail, fixed + (limit + 7) / 8 * 8);
			EQ(str->off, fixed);
			EQ(str->len, limit);
			OK(!memcmp(rec + fixed, expected, (limit + 7) / 8 * 8));
			r.ctl->tail = tail = r.head->head;
		}
	}
	/* What fails leaves no record, and no gap. */
	EQ(emit_string(fd, banner, 9, 8), KPL_STOP_TOO_LONG);
	EQ(emit_string(fd, banner, 4095, 0), KPL_STOP_TOO_LONG);
	EQ(emit_string(fd, 8, 9, 16), KPL_STOP_READ);
	EQ(emit_string(fd, 9, 9, 16), KPL_STOP_READ);
	EQ(r.head->head, tail);
	EQ(r.head->reserved_head, tail);
	EQ(r.head->sent, 30);
	EQ(r.head->lost, 0);
	close(fd);
}

static int readable(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, timeout);

	return n == 1 && p.revents == POLLIN;
}

static void wakes(void)
{
	int fd = session(), prog;
	struct ring r = ring_open(fd, 8192);
	unsigned i;

	stay_on(0);
	prog = event_prog(fd);
	OK(!readable(fd, 0));
	emit(fd, prog, 0);
	OK(readable(fd, 0));
	r.ctl->tail = EVENT_SIZE;
	OK(!readable(fd, 0));
	/* Not before three more; and at half full in any case. */
	r.ctl->wake_at = 4 * EVENT_SIZE;
	emit(fd, prog, 0);
	emit(fd, prog, 0);
	OK(!readable(fd, 0));
	emit(fd, prog, 0);
	OK(readable(fd, 0));
	r.ctl->wake_at = UINT64_MAX;
	OK(!readable(fd, 0));
	for (i = 0; i < 4096 / EVENT_SIZE + 1; i++)
		emit(fd, prog, 0);
	OK(readable(fd, 0));
	close(fd);
}

/* A sleeping consumer is woken by a hit, each time again, on wake_at 0. */
static void wakes_sleepers(void)
{
	int fd = session(), prog, n;
	struct ring r = ring_open(fd, 8192);
	pid_t child;

	stay_on(0);
	prog = event_prog(fd);
	attach_one(fd, probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	fflush(stdout);
	child = fork();
	if (!child) {
		for (n = 0; n < 5; n++) {
			while (!asleep(getppid()))
				sched_yield();
			syscall(SYS_getpriority, PRIO_PROCESS, 0);
		}
		_exit(0);
	}
	for (n = 0; n < 5; n++) {
		OK(readable(fd, 120000));
		r.ctl->tail = r.head->head;
	}
	waitpid(child, NULL, 0);
	EQ(r.head->sent, 5);
	EQ(r.head->lost, 0);
	close(fd);
}

/* Two CPUs, a consumer that is far too slow: sent = delivered + lost, on each. */
static void loses_exactly(void)
{
	int fd = session(), prog, cpu;
	struct ring r = ring_open(fd, 4096);
	unsigned probe;
	uint64_t sent = 0;

	prog = event_prog(fd);
	probe = attach_one(fd, probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	fflush(stdout);
	for (cpu = 0; cpu < 2; cpu++) {
		if (!fork()) {
			int n;

			stay_on(cpu);
			for (n = 0; n < 5000; n++)
				syscall(SYS_getpriority, PRIO_PROCESS, 0);
			_exit(0);
		}
	}
	wait(NULL);
	wait(NULL);
	for (cpu = 0; cpu < 2; cpu++) {
		struct kpl_ring_head *h = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
					       r.setup.data_off + cpu * r.setup.data_stride);

		EQ(h->head / EVENT_SIZE + h->lost, h->sent);
		OK(h->lost > 0);
		sent += h->sent;
	}
	EQ(sent, 10000);
	EQ(stats(fd, probe).entry.handled, 10000);
	close(fd);
}

const struct test data_tests[] = {
	{ "all kinds", all_kinds },
	{ "keyed", keyed },
	{ "keyed by a string", keyed_by_a_string },
	{ "keyed by a name", keyed_by_a_name },
	{ "shared map from user space", shared_from_user },
	{ "shared map from handlers", shared_from_handlers },
	{ "events", events },
	{ "an event's string, read in place", strings_of_records },
	{ "wakes", wakes },
	{ "wakes sleepers", wakes_sleepers },
	{ "loses exactly", loses_exactly },
	{ NULL, NULL },
};
