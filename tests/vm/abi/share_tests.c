/* SPDX-License-Identifier: MIT */
/* Sessions that probe the same functions by ftrace: one ftrace_ops serves all, and each counts what it would alone. */
#define _GNU_SOURCE
#include "kit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define OTHER	"__x64_sys_getpgid"	/* nobody else calls it */

/* Functions that ftrace calls somebody for, and those of them that more than one ftrace_ops is for. */
struct traced {
	int functions, several;
};

static struct traced traced_now(void)
{
	FILE *f = fopen("/sys/kernel/tracing/enabled_functions", "r");
	struct traced t = {};
	char line[512], *users;

	OK(f != NULL);
	while (f && fgets(line, sizeof(line), f)) {
		users = strrchr(line, '(');
		for (users = strchr(line, '('); users; users = strchr(users + 1, '('))
			if (atoi(users + 1) > 0)
				break;
		t.functions++;
		t.several += users && atoi(users + 1) > 1;
	}
	if (f)
		fclose(f);
	return t;
}

/* What handlers do: each has a way of its own through a hit. */
enum way { ADDS, NOTHING, REGISTERS, PLACE, FILTERED, ALL_REGISTERS, WAYS };

struct counter {
	int fd;
	enum way way;
	struct kpl_map_create map;
	struct kpl_attach probe;
	unsigned calls;		/* that it should have seen */
};

static int way_prog(int fd, enum way way, unsigned map)
{
	switch (way) {
	case ADDS:
	case FILTERED:
		return load(fd, KPL_PROG_PRE, PROG(MAP(2, map), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0)));
	case REGISTERS:		/* the argument is an address of the kernel's */
		return load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 112),
						   INSN(BPF_ALU64 | BPF_RSH | BPF_K, 4, 0, 0, 63), MAP(2, map),
						   MOVI(3, 0), CALL(agg_add), RETURN(0)));
	case PLACE:
		return load(fd, KPL_PROG_PRE, PROG(LD(4, 1, HIT(addr)), MAP(2, map), MOVI(3, 0), CALL(agg_add),
						   RETURN(0)));
	case ALL_REGISTERS:
		return load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 8), MAP(2, map), MOVI(3, 0),
						   MOVI(4, 1), CALL(agg_add), RETURN(0)));
	default:
		return load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	}
}

static struct counter counter_open(enum way way, const char *name)
{
	struct counter c = { .fd = session(), .way = way, .map = { .kind = KPL_MAP_SUM } };
	unsigned map = map_create(c.fd, &c.map);

	c.probe = probe_at(name, KPL_PROBE_FTRACE, way_prog(c.fd, way, map), KPL_NO_PROG);
	if (way == FILTERED)
		c.probe.when = (struct kpl_when) { .mask = KPL_WHEN_PID, .pid = getpid() };
	EQ(attach(c.fd, &c.probe, 1), 0);
	return c;
}

static void counter_check(const struct counter *c)
{
	static uint64_t called; /* a list of 150,000 lines says where */
	struct kpl_probe_stats s = stats(c->fd, c->probe.id);

	if (!called)
		called = symbol(CALLED);
	EQ(s.entry.handled, c->calls);
	EQ(s.entry.hits, c->calls);
	if (c->way == PLACE)
		EQ(agg_total(c->fd, &c->map, 0), c->calls * called);
	else if (c->way != NOTHING)
		EQ(agg_total(c->fd, &c->map, 0), c->calls);
}

/* Calls that those see whose turn is not off. */
static void count(struct counter *list, unsigned nr, unsigned off)
{
	unsigned i;

	call(7);
	for (i = 0; i < nr; i++) {
		if (i != off && list[i].fd >= 0)
			list[i].calls += 7;
		if (list[i].fd >= 0)
			counter_check(&list[i]);
	}
}

static void counter_close(struct counter *c)
{
	close(c->fd);
	c->fd = -1;
}

/* Two of whatever kind, off and on one after the other; then `last` alone; then one that comes later. */
static void in_turn(enum way first, enum way second, unsigned last, struct traced before)
{
	struct counter c[2] = { counter_open(first, CALLED) };
	int apart = (first == ALL_REGISTERS) != (second == ALL_REGISTERS);
	unsigned i;

	c[1].fd = -1;
	count(c, 2, 2);
	c[1] = counter_open(second, CALLED);
	EQ(traced_now().functions, before.functions + 1);
	EQ(traced_now().several, before.several + apart);
	count(c, 2, 2);
	for (i = 0; i < 2; i++) {
		EQ(control(c[i].fd, KPL_CTL_DISABLE, c[i].probe.id), 0);
		count(c, 2, i);
		EQ(control(c[i].fd, KPL_CTL_ENABLE, c[i].probe.id), 0);
		count(c, 2, 2);
	}
	counter_close(&c[!last]);
	EQ(traced_now().functions, before.functions + 1);
	EQ(traced_now().several, before.several);
	count(c, 2, 2);
	EQ(control(c[last].fd, KPL_CTL_DISABLE, c[last].probe.id), 0);
	EQ(traced_now().functions, before.functions);
	count(c, 2, last);
	c[!last] = counter_open(first, CALLED);
	count(c, 2, last);
	EQ(control(c[last].fd, KPL_CTL_ENABLE, c[last].probe.id), 0);
	count(c, 2, 2);
	counter_close(&c[0]);
	counter_close(&c[1]);
	EQ(traced_now().functions, before.functions);
}

/* Each pair once, half of them with the lesser way first. */
static void all_pairs(void)
{
	struct traced before = traced_now();
	int fd = session();
	uint64_t memory = info(fd).memory_all;
	unsigned first, second;

	for (first = 0; first < WAYS; first++)
		for (second = first; second < WAYS; second++)
			if ((first + second) % 2)
				in_turn(first, second, first % 2, before);
			else
				in_turn(second, first, first % 2, before);
	EQ(info(fd).memory_all, memory);
	close(fd);
}

/* Who comes second finds one function traced and another one not; who came first leaves first. */
static void partly(void)
{
	struct traced before = traced_now();
	struct counter one = counter_open(ADDS, CALLED), three;
	int two = session(), prog = load(two, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a[3] = {
		probe_at(OTHER, KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
		probe_at(CALLED, KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
		probe_at("__x64_sys_setpriority", KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
	};

	EQ(attach(two, a, 3), 0);
	EQ(traced_now().functions, before.functions + 3);
	EQ(traced_now().several, before.several);
	count(&one, 1, 1);
	counter_close(&one);
	EQ(traced_now().functions, before.functions + 3);
	call(7);
	getpgid(0);
	EQ(stats(two, a[1].id).entry.handled, 14);
	EQ(stats(two, a[0].id).entry.handled, 1);
	three = counter_open(PLACE, CALLED);
	one = counter_open(NOTHING, OTHER);
	EQ(traced_now().several, before.several);
	count(&three, 1, 1);
	close(two);
	EQ(traced_now().functions, before.functions + 2);
	count(&three, 1, 1);
	getpgid(0);
	EQ(stats(one.fd, one.probe.id).entry.handled, 1);
	counter_close(&three);
	counter_close(&one);
	EQ(traced_now().functions, before.functions);
}

/* An attach that fails as a whole, with a place that is none, and with what a filter can't be. */
static void failures(void)
{
	struct traced before = traced_now();
	struct counter one = counter_open(ADDS, CALLED);
	int two = session(), prog = load(two, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a[3] = {
		probe_at(CALLED, KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
		probe_at(OTHER, KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
		probe_at("vfs_read", KPL_PROBE_FTRACE, prog, KPL_NO_PROG),
	};
	unsigned i;

	a[2].addr += 23;
	for (i = 0; i < 10; i++) {
		FAILS(ECANCELED, attach(two, a, 3));
		EQ(a[2].error, -EINVAL);
		EQ(traced_now().functions, before.functions + 1);
		count(&one, 1, 1);
	}
	close(two);
	count(&one, 1, 1);
	counter_close(&one);
	EQ(traced_now().functions, before.functions);
}

/* After exit(), one session's probes are passed over, and nobody else's. */
static void one_exits(void)
{
	struct counter c[3] = { counter_open(ADDS, CALLED) };
	int fd = session();
	unsigned id = attach_one(fd, probe_at(CALLED, KPL_PROBE_FTRACE,
					      load(fd, KPL_PROG_PRE, PROG(MOVI(2, 3), CALL(exit), RETURN(0))), KPL_NO_PROG));

	c[1] = counter_open(PLACE, CALLED);
	c[2] = counter_open(REGISTERS, CALLED);
	count(c, 3, 3);
	count(c, 3, 3);
	EQ(info(fd).exit_code, 3);
	EQ(stats(fd, id).entry.handled, 1);
	close(fd);
	count(c, 3, 3);
	counter_close(&c[1]);
	count(c, 3, 3);
	counter_close(&c[0]);
	counter_close(&c[2]);
}

/* ----------------------------------------------------------------- at work */

static volatile int calling;
static unsigned long calls_made;

static void *caller(void *unused)
{
	(void)unused;
	stay_on(1);
	while (calling) {
		call(100);
		calls_made += 100;
	}
	return NULL;
}

static void calls_begin(pthread_t *thread)
{
	calling = 1;
	calls_made = 0;
	OK(pthread_create(thread, NULL, caller, NULL) == 0);
}

static void calls_end(pthread_t thread, struct counter *c)
{
	calling = 0;
	pthread_join(thread, NULL);
	EQ(stats(c->fd, c->probe.id).entry.handled, calls_made);
	EQ(agg_total(c->fd, &c->map, 0), calls_made);
}

/* Others come, switch and go while calls are under way: one counts each of them. */
static void while_calls_come(void)
{
	static const enum way ways[] = { NOTHING, PLACE, FILTERED, ADDS, REGISTERS };
	struct counter one = counter_open(ADDS, CALLED), c;
	pthread_t thread;
	unsigned i;

	stay_on(0);
	calls_begin(&thread);
	for (i = 0; i < 25; i++) {
		c = counter_open(ways[i % 5], CALLED);
		EQ(control(c.fd, KPL_CTL_DISABLE, c.probe.id), 0);
		EQ(control(c.fd, KPL_CTL_ENABLE, c.probe.id), 0);
		close(c.fd);
	}
	calls_end(thread, &one);
	counter_close(&one);
}

/* A session's process is killed; who was first in the trace, or second. */
static void one_is_killed(unsigned first)
{
	volatile int *ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct traced before = traced_now();
	struct counter one = {};
	pthread_t thread;
	int child;

	if (!first)
		one = counter_open(ADDS, CALLED);
	child = fork();
	if (!child) {
		counter_open(ADDS, CALLED);
		*ready = 1;
		for (;;)
			call(1000);
	}
	WAIT(*ready);
	if (first)
		one = counter_open(ADDS, CALLED);
	EQ(kill(child, SIGSTOP), 0);
	EQ(waitpid(child, NULL, WUNTRACED), child);
	one.calls = stats(one.fd, one.probe.id).entry.handled;
	calls_begin(&thread);
	EQ(kill(child, SIGKILL), 0);
	EQ(waitpid(child, NULL, 0), child);
	WAIT(calls_made > 10000);
	calling = 0;
	pthread_join(thread, NULL);
	EQ(stats(one.fd, one.probe.id).entry.handled, one.calls + calls_made);
	EQ(agg_total(one.fd, &one.map, 0), one.calls + calls_made);
	EQ(traced_now().functions, before.functions + 1);
	counter_close(&one);
	WAIT(traced_now().functions == before.functions);
	munmap((void *)ready, 4096);
}

static void killed(void)
{
	one_is_killed(0);
	one_is_killed(1);
}

const struct test share_tests[] = {
	{ "shared in pairs", all_pairs },
	{ "shared partly", partly },
	{ "shared, one fails", failures },
	{ "shared, one exits", one_exits },
	{ "shared while calls come", while_calls_come },
	{ "shared, one is killed", killed },
	{ NULL, NULL },
};
