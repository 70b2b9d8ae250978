/* SPDX-License-Identifier: MIT */
/* Entry probes by ftrace: the same meaning as kprobes', by another way. */
#define _GNU_SOURCE
#include "kit.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Functions that anything traces, beside what stood there before. */
static int traced_functions(void)
{
	FILE *f = fopen("/sys/kernel/tracing/enabled_functions", "r");
	char line[512];
	int n = 0;

	OK(f != NULL);
	while (f && fgets(line, sizeof(line), f))
		n++;
	if (f)
		fclose(f);
	return n;
}

static struct kpl_attach traced(const char *name, int prog)
{
	return probe_at(name, KPL_PROBE_FTRACE, prog, KPL_NO_PROG);
}

static int count_prog(int fd, unsigned map)
{
	return load(fd, KPL_PROG_PRE, PROG(MAP(2, map), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0)));
}

static void traced_exactly(void)
{
	int fd = session(), before = traced_functions();
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	unsigned id = map_create(fd, &map), probe;
	struct kpl_probe_stats s;

	probe = attach_one(fd, traced(CALLED, count_prog(fd, id)));
	EQ(traced_functions(), before + 1);
	call_on_both(20000);
	s = stats(fd, probe);
	EQ(s.entry.hits, 40000);
	EQ(s.entry.handled, 40000);
	EQ(s.state, KPL_STATE_FTRACE);
	EQ(agg_total(fd, &map, 0), 40000);
	EQ(control(fd, KPL_CTL_DISABLE, probe), 0);
	EQ(stats(fd, probe).state, KPL_STATE_DISABLED);
	EQ(traced_functions(), before);
	call(10);
	EQ(control(fd, KPL_CTL_ENABLE, probe), 0);
	call(7);
	EQ(stats(fd, probe).entry.handled, 40007);
	EQ(control(fd, KPL_CTL_DETACH, probe), 0);
	call(10);
	EQ(stats(fd, probe).entry.handled, 40007);
	EQ(stats(fd, probe).state, KPL_STATE_DETACHED);
	EQ(traced_functions(), before);
	close(fd);
}

/* One trace of several functions, two probes on one of them, switched one by one. */
static void several_in_one(void)
{
	int fd = session(), before = traced_functions();
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a[4] = {
		traced(CALLED, prog), traced("__x64_sys_getpgid", prog), traced(CALLED, prog),
		traced("__x64_sys_setpriority", prog),
	};
	unsigned i;

	a[3].flags = KPL_ATTACH_F_DISABLED;
	EQ(attach(fd, a, 4), 0);
	EQ(traced_functions(), before + 2);
	call(10);
	for (i = 0; i < 20; i++)
		getpgid(0);
	EQ(stats(fd, a[0].id).entry.handled, 10);
	EQ(stats(fd, a[1].id).entry.handled, 20);
	EQ(stats(fd, a[2].id).entry.handled, 10);
	EQ(stats(fd, a[3].id).state, KPL_STATE_DISABLED);
	EQ(control(fd, KPL_CTL_DETACH, a[0].id), 0);
	EQ(control(fd, KPL_CTL_DISABLE, a[1].id), 0);
	EQ(traced_functions(), before + 1);
	call(10);
	getpgid(0);
	EQ(stats(fd, a[0].id).entry.handled, 10);
	EQ(stats(fd, a[1].id).entry.handled, 20);
	EQ(stats(fd, a[2].id).entry.handled, 20);
	EQ(control(fd, KPL_CTL_ENABLE, a[3].id), 0);
	EQ(control(fd, KPL_CTL_ENABLE, a[1].id), 0);
	EQ(traced_functions(), before + 3);
	getpgid(0);
	EQ(stats(fd, a[1].id).entry.handled, 21);
	close(fd);
	EQ(traced_functions(), before);
}

static void not_a_site(void)
{
	int fd = session(), before = traced_functions();
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a[3] = { traced(CALLED, prog), traced("vfs_read", prog), traced("vfs_write", prog) };

	a[1].addr += 23;
	FAILS(ECANCELED, attach(fd, a, 3));
	EQ(a[0].error, -ECANCELED);
	EQ(a[1].error, -EINVAL);
	EQ(a[2].error, -ECANCELED);
	EQ(traced_functions(), before);
	a[1].addr = 16;
	a[1].flags = KPL_ATTACH_F_OPTIONAL;
	a[0].error = a[2].error = 0;
	EQ(attach(fd, a, 3), 0);
	EQ(a[1].error, -EINVAL);
	call(5);
	EQ(stats(fd, a[0].id).entry.handled, 5);
	close(fd);
}

/* A handler's helper is traced itself, and probed as well. */
static void traced_nested(void)
{
	int fd = session();
	struct kpl_prog_load l = { .kind = KPL_PROG_PRE, .scratch_size = 64 };
	int reads_user = load_with(fd, &l, PROG(LD(2, 1, HIT(scratch)), MOVI(3, 40), MOVI(4, 0), CALL(ustr),
						RETURN(0)));
	int empty = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a[3] = {
		traced(CALLED, reads_user), traced("copy_from_user_nofault", empty),
		probe_at("copy_from_user_nofault", KPL_PROBE_KPROBE, empty, KPL_NO_PROG),
	};

	EQ(attach(fd, a, 3), 0);
	call(1000);
	EQ(stats(fd, a[0].id).entry.handled, 1000);
	EQ(stats(fd, a[1].id).entry.missed, 1000);
	EQ(stats(fd, a[1].id).entry.handled, 0);
	EQ(stats(fd, a[2].id).entry.missed, 1000);
	close(fd);
}

/* Argument registers always, all of them when asked for: di, and cs. */
static void registers(void)
{
	int fd = session();
	struct kpl_map_create args = { .kind = KPL_MAP_SUM }, full = { .kind = KPL_MAP_SUM };
	unsigned args_map = map_create(fd, &args), full_map = map_create(fd, &full);
	struct kpl_prog_load l = { .kind = KPL_PROG_PRE, .flags = KPL_PROG_F_FULL_REGS };
	struct kpl_attach a[2];
	int prog;

	/* The address of the caller's registers: the same by both. */
	prog = load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 112), MAP(2, args_map), MOVI(3, 0),
					   CALL(agg_add), RETURN(0)));
	a[0] = traced(CALLED, prog);
	prog = load_with(fd, &l, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 112), LD(5, 2, 136), SUB(4, 5), MAP(2, full_map),
				      MOVI(3, 0), CALL(agg_add), RETURN(0)));
	OK(prog >= 0);
	a[1] = traced(CALLED, prog);
	EQ(attach(fd, a, 2), 0);
	call(1);
	OK(agg_total(fd, &args, 0) != 0);
	EQ(agg_total(fd, &args, 0) - agg_total(fd, &full, 0), 0x10);
	close(fd);
}

/* On one function at once: a kprobe, a return probe, two traces of two sessions. */
static void together(void)
{
	int one = session(), two = session(), before = traced_functions();
	int prog = load(one, KPL_PROG_PRE, PROG(RETURN(0)));
	int ret = load(one, KPL_PROG_RET, PROG(RETURN(0)));
	struct kpl_attach a[3] = {
		traced(CALLED, prog), probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG),
		probe_at(CALLED, KPL_PROBE_KRETPROBE, KPL_NO_PROG, ret),
	};
	unsigned id;

	EQ(attach(one, a, 3), 0);
	id = attach_one(two, traced(CALLED, load(two, KPL_PROG_PRE, PROG(RETURN(0)))));
	call_on_both(1000);
	EQ(stats(one, a[0].id).entry.handled, 2000);
	EQ(stats(one, a[1].id).entry.handled, 2000);
	EQ(stats(one, a[2].id).ret.handled, 2000);
	EQ(stats(two, id).entry.handled, 2000);
	close(one);
	call(10);
	EQ(stats(two, id).entry.handled, 2010);
	close(two);
	EQ(traced_functions(), before);
}

const struct test trace_tests[] = {
	{ "traced exactly", traced_exactly },
	{ "several in one", several_in_one },
	{ "not a site", not_a_site },
	{ "traced nested", traced_nested },
	{ "registers", registers },
	{ "together", together },
	{ NULL, NULL },
};
