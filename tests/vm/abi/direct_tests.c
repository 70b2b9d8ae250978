/* SPDX-License-Identifier: MIT */
/* Return probes by direct calls: the same counts as kretprobes, and what becomes of those that can't be. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLEEPS	"__x64_sys_clock_nanosleep"

static int nothing(int fd, unsigned kind)
{
	return load(fd, kind, PROG(RETURN(0)));
}

static struct kpl_attach direct_at(const char *symbol, int entry, int ret)
{
	return probe_at(symbol, KPL_PROBE_DIRECT, entry, ret);
}

/* Each number of handlers; off, on, and off for good. */
static void counts(void)
{
	int fd = session(), with;
	int entry = nothing(fd, KPL_PROG_ENTRY), ret = nothing(fd, KPL_PROG_RET);

	for (with = 1; with < 4; with++) {
		unsigned id = attach_one(fd, direct_at(CALLED, with & 1 ? entry : (int)KPL_NO_PROG,
						       with & 2 ? ret : (int)KPL_NO_PROG));
		struct kpl_probe_stats s;
		unsigned returns = with & 2 ? 1 : 0;

		EQ(stats(fd, id).state, KPL_STATE_DIRECT);
		call_on_both(5000);
		s = stats(fd, id);
		EQ(s.entry.hits, 10000);
		EQ(s.entry.handled, 10000);
		EQ(s.ret.handled, returns * 10000);
		EQ(s.outstanding, 0);
		EQ(control(fd, KPL_CTL_DISABLE, id), 0);
		EQ(stats(fd, id).state, KPL_STATE_DISABLED);
		call(10);
		EQ(control(fd, KPL_CTL_ENABLE, id), 0);
		call(7);
		EQ(stats(fd, id).ret.handled, returns * 10007);
		EQ(control(fd, KPL_CTL_DETACH, id), 0);
		call(10);
		s = stats(fd, id);
		EQ(s.entry.hits, 10007);
		EQ(s.state, KPL_STATE_DETACHED);
	}
	close(fd);
}

/* Entry keeps its first argument and a number, return reads them; the value is added up. */
static void data_and_values(void)
{
	int fd = session(), prio;
	struct kpl_map_create map = { .kind = KPL_MAP_SUM };
	unsigned id = map_create(fd, &map), probe;
	struct kpl_prog_load with_data = { .kind = KPL_PROG_ENTRY, .data_size = 64 };
	struct kpl_prog_load with_data_too = { .kind = KPL_PROG_RET, .data_size = 64 };
	int entry = load_with(fd, &with_data, PROG(LD(2, 1, HIT(data)), STI(2, 56, 4711), RETURN(0)));
	int ret = load_with(fd, &with_data_too,
			    PROG(LD(2, 1, HIT(data)), LD(3, 2, 56), LD(4, 1, HIT(ret)), ADDI(3, -4711),
				 JNEI(3, 0, 6), JSLTI(4, 0, 5), MAP(2, id), MOVI(3, 0), CALL(agg_add), JA(0),
				 RETURN(0)));

	OK(entry >= 0 && ret >= 0);
	probe = attach_one(fd, direct_at(CALLED, entry, ret));
	prio = syscall(SYS_getpriority, PRIO_PROCESS, 0);
	call_on_both(5000);
	EQ(stats(fd, probe).ret.handled, 10001);
	EQ(agg_total(fd, &map, 0), 10001ull * prio);
	close(fd);
}

/* Entry may decline, or stop. */
static void entry_decides(void)
{
	int fd = session(), ret = nothing(fd, KPL_PROG_RET), i;
	int entries[] = {
		load(fd, KPL_PROG_ENTRY, PROG(RETURN(KPL_RET_SKIP))),
		load(fd, KPL_PROG_ENTRY, PROG(RETURN(KPL_RET_STOP(KPL_STOP_NIL, 1)))),
	};

	for (i = 0; i < 2; i++) {
		unsigned id = attach_one(fd, direct_at(CALLED, entries[i], ret));
		struct kpl_probe_stats s;

		call_on_both(500);
		s = stats(fd, id);
		EQ(s.entry.handled, i ? 0 : 1000);
		EQ(s.declined, i ? 0 : 1000);
		EQ(s.dropped, i ? 1000 : 0);
		EQ(s.ret.hits, 0);
		EQ(s.outstanding, 0);
		EQ(control(fd, KPL_CTL_DETACH, id), 0);
	}
	close(fd);
}

static void filters(void)
{
	int fd = session(), entry = nothing(fd, KPL_PROG_ENTRY), ret = nothing(fd, KPL_PROG_RET), with;

	for (with = 0; with < 2; with++) {
		struct kpl_attach a = direct_at(CALLED, with ? entry : (int)KPL_NO_PROG, ret);
		struct kpl_probe_stats s;

		a.when = (struct kpl_when) { .mask = KPL_WHEN_CPU, .cpu = 1 };
		a.id = attach_one(fd, a);
		call_on_both(100);
		s = stats(fd, a.id);
		EQ(s.entry.handled, 100);
		EQ(s.entry.skipped, 100);
		EQ(s.ret.handled, 100);
		EQ(control(fd, KPL_CTL_DETACH, a.id), 0);
	}
	close(fd);
}

static unsigned why_not(int fd, struct kpl_attach a)
{
	struct kpl_attach strict = a;

	a.flags = KPL_ATTACH_F_ELSE_KPROBE;
	EQ(attach(fd, &a, 1), 0);
	EQ(a.kind, KPL_PROBE_KRETPROBE);
	call(100);
	EQ(stats(fd, a.id).ret.handled, 100);
	EQ(control(fd, KPL_CTL_DETACH, a.id), 0);
	FAILS(ECANCELED, attach(fd, &strict, 1));
	EQ(strict.error, -EOPNOTSUPP);
	EQ(strict.why, a.why);
	return a.why;
}

/* Who may not write to the kernel's memory may not say what lies on a function's stack. */
static void without_admin(int unused)
{
	int fd = session();
	struct kpl_attach a = direct_at(CALLED, KPL_NO_PROG, nothing(fd, KPL_PROG_RET)), off = a;

	(void)unused;
	off.flags = KPL_ATTACH_F_DISABLED;
	off.id = attach_one(fd, off);
	set_caps(1ull << CAP_PERFMON | 1ull << CAP_BPF);
	EQ(why_not(fd, a), KPL_WHY_RIGHTS);
	FAILS(EPERM, control(fd, KPL_CTL_ENABLE, off.id));
	EQ(control(fd, KPL_CTL_DETACH, off.id), 0);
}

static void becomes_kretprobe(void)
{
	int fd = session(), ret = nothing(fd, KPL_PROG_RET);
	struct kpl_prog_load data = { .kind = KPL_PROG_ENTRY, .data_size = 72 };
	int much = load_with(fd, &data, PROG(LD(2, 1, HIT(data)), STI(2, 64, 0), RETURN(0)));
	int reads_bx = load(fd, KPL_PROG_ENTRY, PROG(LD(2, 1, HIT(regs)), LD(2, 2, 40), RETURN(0)));
	struct kpl_attach a = direct_at(CALLED, KPL_NO_PROG, ret), both[2];

	a.stack_args = 9;
	EQ(why_not(fd, a), KPL_WHY_STACK);
	EQ(why_not(fd, direct_at(CALLED, much, ret)), KPL_WHY_DATA);
	EQ(why_not(fd, direct_at(CALLED, reads_bx, ret)), KPL_WHY_REGS);
	in_child(without_admin, 0);

	a = direct_at(CALLED, KPL_NO_PROG, ret);
	a.id = attach_one(fd, a);
	EQ(why_not(fd, direct_at(CALLED, KPL_NO_PROG, ret)), KPL_WHY_BUSY);
	EQ(control(fd, KPL_CTL_DETACH, a.id), 0);

	/* Two of one function in one call; what user space has found out stays. */
	both[0] = both[1] = direct_at(CALLED, KPL_NO_PROG, ret);
	both[0].flags = both[1].flags = KPL_ATTACH_F_ELSE_KPROBE;
	EQ(attach(fd, both, 2), 0);
	EQ(both[0].kind + both[1].kind, KPL_PROBE_DIRECT + KPL_PROBE_KRETPROBE);
	call(100);
	EQ(stats(fd, both[0].id).ret.handled, 100);
	EQ(stats(fd, both[1].id).ret.handled, 100);
	a = direct_at(CALLED, KPL_NO_PROG, ret);
	a.stack_args = -1;
	a.why = KPL_WHY_VARARGS;
	FAILS(ECANCELED, attach(fd, &a, 1));
	EQ(a.why, KPL_WHY_VARARGS);
	close(fd);
}

static const char *const names[] = {
	CALLED, "__x64_sys_sched_yield", "__x64_sys_getppid", "__x64_sys_getsid", "__x64_sys_umask", "__x64_sys_getpgid",
	"__x64_sys_getuid", "__x64_sys_geteuid", "__x64_sys_getgid", "__x64_sys_getegid", "__x64_sys_getpgrp",
	"__x64_sys_sync", "__x64_sys_getrlimit", "__x64_sys_times", "__x64_sys_alarm", "__x64_sys_pause",
};

/* Each number of functions that another session has: they become kretprobes, and no others are touched. */
static void many_become_kretprobes(void)
{
	struct kpl_attach first[16], later[16];
	int fd, second, i, n;

	for (n = 1; n <= 16; n = n < 3 ? n + 1 : n < 9 ? 9 : n + 7) {
		fd = session();
		second = session();
		for (i = 0; i < n; i++) {
			first[i] = direct_at(names[i], KPL_NO_PROG, nothing(fd, KPL_PROG_RET));
			later[i] = direct_at(names[i], KPL_NO_PROG, nothing(second, KPL_PROG_RET));
			later[i].flags = KPL_ATTACH_F_ELSE_KPROBE;
		}
		EQ(attach(fd, first, n), 0);
		EQ(attach(second, later, n), 0);
		call(100);
		for (i = 0; i < n; i++) {
			EQ(later[i].kind, KPL_PROBE_KRETPROBE);
			EQ(stats(second, later[i].id).state, stats(second, later[0].id).state);
		}
		EQ(stats(second, later[0].id).ret.handled, 100);
		close(second);
		close(fd);
	}
}

/* Some of many are another's: these alone become kretprobes, and are by direct calls where the other has gone before. */
static void some_are_anothers(void)
{
	int fd = session(), second = session(), third = session(), i;
	struct kpl_attach theirs[6], all[16], off[16];
	unsigned ids[16];
	struct kpl_control on = { .ids = (uintptr_t)ids, .nr = 16, .op = KPL_CTL_ENABLE };

	for (i = 0; i < 16; i++) {
		if (i % 3 == 0)
			theirs[i / 3] = direct_at(names[i], KPL_NO_PROG, nothing(fd, KPL_PROG_RET));
		all[i] = direct_at(names[i], KPL_NO_PROG, nothing(second, KPL_PROG_RET));
		all[i].flags = KPL_ATTACH_F_ELSE_KPROBE;
		off[i] = direct_at(names[i], KPL_NO_PROG, nothing(third, KPL_PROG_RET));
		off[i].flags = KPL_ATTACH_F_DISABLED;
	}
	EQ(attach(fd, theirs, 6), 0);
	EQ(attach(third, off, 16), 0);
	EQ(attach(second, all, 16), 0);
	call(100);
	for (i = 0; i < 16; i++)
		EQ(all[i].kind, i % 3 == 0 ? KPL_PROBE_KRETPROBE : KPL_PROBE_DIRECT);
	EQ(stats(second, all[0].id).ret.handled, 100);
	EQ(stats(fd, theirs[0].id).ret.handled, 100);
	close(second);
	for (i = 0; i < 16; i++)
		ids[i] = off[i].id;
	FAILS(EOPNOTSUPP, ioctl(third, KPL_IOC_CONTROL, &on));
	for (i = 0; i < 16; i++)
		EQ(stats(third, ids[i]).state, i % 3 == 0 ? KPL_STATE_DISABLED : KPL_STATE_DIRECT);
	close(fd);
	EQ(ioctl(third, KPL_IOC_CONTROL, &on), 0);
	call(100);
	EQ(stats(third, off[0].id).ret.handled, 100);
	for (i = 0; i < 16; i++)
		EQ(stats(third, off[i].id).state, KPL_STATE_DIRECT);
	close(third);
}

/* One of several is another's when they are switched on: it stays off, the others can be switched, and later it is free. */
static void switched_on_later(void)
{
	int fd = session(), other = session(), i;
	struct kpl_attach a[3];
	unsigned ids[3], id;
	struct kpl_control all = { .ids = (uintptr_t)ids, .nr = 3, .op = KPL_CTL_ENABLE };

	for (i = 0; i < 3; i++) {
		a[i] = direct_at(names[i], KPL_NO_PROG, nothing(fd, KPL_PROG_RET));
		a[i].flags = KPL_ATTACH_F_DISABLED;
	}
	EQ(attach(fd, a, 3), 0);
	for (i = 0; i < 3; i++)
		ids[i] = a[i].id;
	id = attach_one(other, direct_at(CALLED, KPL_NO_PROG, nothing(other, KPL_PROG_RET)));
	FAILS(EOPNOTSUPP, ioctl(fd, KPL_IOC_CONTROL, &all));
	EQ(stats(fd, ids[0]).state, KPL_STATE_DISABLED);
	EQ(stats(fd, ids[1]).state, KPL_STATE_DIRECT);
	all.op = KPL_CTL_DISABLE;
	EQ(ioctl(fd, KPL_IOC_CONTROL, &all), 0);
	EQ(control(other, KPL_CTL_DETACH, id), 0);
	all.op = KPL_CTL_ENABLE;
	EQ(ioctl(fd, KPL_IOC_CONTROL, &all), 0);
	call(100);
	EQ(stats(fd, ids[0]).ret.handled, 100);
	close(other);
	close(fd);
}

/* The words that the caller is said to have put there may lie beyond the end of an interrupt's stack: they are zero. */
static void beyond_stack(void)
{
	static const char *const outermost[] = { "irq_enter_rcu", "irq_exit_rcu" };
	struct kpl_attach list[3];
	int fd = session(), ret = nothing(fd, KPL_PROG_RET);
	unsigned i;

	for (i = 0; i < sizeof(outermost) / sizeof(outermost[0]); i++) {
		struct kpl_attach a = direct_at(outermost[i], KPL_NO_PROG, ret);

		a.stack_args = 8;
		a.id = attach_one(fd, a);
		while (!stats(fd, a.id).ret.handled)
			usleep(10000);
		EQ(control(fd, KPL_CTL_DETACH, a.id), 0);
		list[i] = direct_at(outermost[i], KPL_NO_PROG, ret);
	}
	/* The same by the stub of many. */
	list[2] = direct_at(CALLED, KPL_NO_PROG, ret);
	for (i = 0; i < 3; i++)
		list[i].stack_args = 8;
	EQ(attach(fd, list, 3), 0);
	while (!stats(fd, list[0].id).ret.handled || !stats(fd, list[1].id).ret.handled)
		usleep(10000);
	close(fd);
}

/*
 * One that is detached stays in the filter of those that share its stub: when its module goes, it must go from there, or what
 * comes to stand at its site would be taken for it, and ftrace shut itself down.
 */
static void detached_goes(void)
{
	int fd = session(), ret = nothing(fd, KPL_PROG_RET), i;
	struct kpl_attach a[3], later;

	load_module("KPL_TARGET", "");
	a[0] = direct_at("kpl_t_plain", KPL_NO_PROG, ret);
	a[1] = direct_at("kpl_bench_traced", KPL_NO_PROG, ret);
	a[2] = direct_at(CALLED, KPL_NO_PROG, ret);
	EQ(attach(fd, a, 3), 0);
	for (i = 0; i < 3; i++)
		EQ(a[i].kind, KPL_PROBE_DIRECT);
	EQ(control(fd, KPL_CTL_DETACH, a[0].id), 0);
	for (i = 0; i < 20 && (!i || symbol("kpl_t_plain") != a[0].addr); i++) {
		EQ(syscall(SYS_delete_module, "kpl_target", O_NONBLOCK), 0);
		load_module("KPL_TARGET", "");
	}
	EQ(symbol("kpl_t_plain"), a[0].addr);
	call(100);
	EQ(stats(fd, a[2].id).ret.handled, 100);
	close(fd);

	fd = session();
	later = direct_at(CALLED, KPL_NO_PROG, nothing(fd, KPL_PROG_RET));
	later.id = attach_one(fd, later);
	call(100);
	EQ(stats(fd, later.id).ret.handled, 100);
	close(fd);
}

static void comes(int unused)
{
	(void)unused;
	load_module("KPL_CONTROL", "");
}

static void goes(int unused)
{
	(void)unused;
	EQ(syscall(SYS_delete_module, "kpl_control", O_NONBLOCK), 0);
}

/* ftrace still knows the function, and the memory is there, but what is attached now would not be told that it goes. */
static void refused_while(void (*what)(int), const char *name)
{
	int fd = session(), ret = nothing(fd, KPL_PROG_RET);
	struct kpl_attach a[3];
	pid_t child;
	int i;

	of_target("slow", "1");
	child = fork();
	if (!child) {
		checks_failed = 0;
		what(0);
		_exit(checks_failed != 0);
	}
	for (i = 0; of_target("waits", NULL) != 'Y' && i < 30000; i++)
		usleep(1000);
	EQ(of_target("waits", NULL), 'Y');
	a[0] = direct_at(name, KPL_NO_PROG, ret);
	a[1] = probe_at(name, KPL_PROBE_FTRACE, nothing(fd, KPL_PROG_PRE), KPL_NO_PROG);
	a[2] = probe_at(name, KPL_PROBE_WATCH, nothing(fd, KPL_PROG_WATCH), KPL_NO_PROG);
	a[2].addr &= ~7ull;
	a[2].event = KPL_EVENT_WRITE;
	a[2].len = 8;
	for (i = 0; i < 3; i++) {
		FAILS(ECANCELED, attach(fd, &a[i], 1));
		EQ(a[i].error, -ENOENT);
	}
	of_target("slow", "0");
	OK(waitpid(child, &i, 0) == child && i == 0);
	close(fd);
}

static void module_goes(void)
{
	int fd = session(), ret = nothing(fd, KPL_PROG_RET);

	load_module("KPL_TARGET", "");
	refused_while(comes, "kpl_control_init");
	attach_one(fd, direct_at("set_on", KPL_NO_PROG, ret));
	close(fd);
	refused_while(goes, "set_on");
	fd = session();
	load_module("KPL_CONTROL", "");
	attach_one(fd, direct_at("set_on", KPL_NO_PROG, nothing(fd, KPL_PROG_RET)));
	close(fd);
	goes(0);
}

/* Of several functions by one stub, some go, and the rest stays. */
static void many(void)
{
	static const char *const names[] = {
		CALLED, SLEEPS, "__x64_sys_sched_yield", "__x64_sys_getppid", "__x64_sys_getsid", "__x64_sys_umask",
	};
	int fd = session(), entry = nothing(fd, KPL_PROG_ENTRY), ret = nothing(fd, KPL_PROG_RET);
	struct kpl_attach a[6];
	int i;

	for (i = 0; i < 6; i++)
		a[i] = direct_at(names[i], i % 2 ? entry : (int)KPL_NO_PROG, i == 4 ? (int)KPL_NO_PROG : ret);
	a[4].prog[0] = entry;
	a[3].flags = KPL_ATTACH_F_DISABLED;
	EQ(attach(fd, a, 6), 0);
	for (i = 0; i < 6; i++)
		EQ(stats(fd, a[i].id).state, i == 3 ? KPL_STATE_DISABLED : KPL_STATE_DIRECT);
	call_on_both(500);
	for (i = 0; i < 100; i++) {
		syscall(SYS_getppid);
		syscall(SYS_getsid, 0);
	}
	EQ(stats(fd, a[0].id).ret.handled, 1000);
	EQ(stats(fd, a[3].id).entry.hits, 0);
	OK(stats(fd, a[4].id).entry.handled >= 100);
	EQ(stats(fd, a[4].id).ret.hits, 0);
	EQ(control(fd, KPL_CTL_ENABLE, a[3].id), 0);
	EQ(control(fd, KPL_CTL_DETACH, a[0].id), 0);
	call(10);
	for (i = 0; i < 100; i++)
		syscall(SYS_getppid);
	EQ(stats(fd, a[0].id).ret.handled, 1000);
	OK(stats(fd, a[3].id).ret.handled >= 100);
	close(fd);
}

static pid_t start_sleeper(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct timespec t = { .tv_sec = 1000 };

		clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
		_exit(0);
	}
	WAIT(asleep(pid));
	return pid;
}

static void end_sleeper(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	EQ(waitpid(pid, &status, 0), pid);
	OK(WIFSIGNALED(status));
}

/* Calls return after their probe was detached, after the session's end, and into a stub that has another function. */
static void sleepers(void)
{
	int fd = session(), ret = nothing(fd, KPL_PROG_RET);
	struct kpl_attach a = direct_at(SLEEPS, KPL_NO_PROG, ret);
	struct kpl_probe_stats s;
	unsigned id, other;
	pid_t one, two;

	a.when = (struct kpl_when) { .mask = KPL_WHEN_COMM, .comm = "abi_test" };
	id = attach_one(fd, a);
	one = start_sleeper();
	two = start_sleeper();
	EQ(stats(fd, id).outstanding, 2);
	EQ(control(fd, KPL_CTL_DISABLE, id), 0);
	end_sleeper(one);
	EQ(stats(fd, id).ret.handled, 1);
	EQ(control(fd, KPL_CTL_DETACH, id), 0);
	other = attach_one(fd, direct_at(CALLED, KPL_NO_PROG, ret));
	end_sleeper(two);
	call(10);
	s = stats(fd, other);
	EQ(s.entry.handled, 10);
	EQ(s.ret.handled, 10);
	EQ(stats(fd, id).ret.handled, 1);
	EQ(control(fd, KPL_CTL_DETACH, other), 0);
	id = attach_one(fd, a);
	one = start_sleeper();
	close(fd);
	end_sleeper(one);
}

const struct test direct_tests[] = {
	{ "direct: counts", counts },
	{ "direct: data and values", data_and_values },
	{ "direct: entry decides", entry_decides },
	{ "direct: filters", filters },
	{ "direct: becomes a kretprobe", becomes_kretprobe },
	{ "direct: many become kretprobes", many_become_kretprobes },
	{ "direct: some are another's", some_are_anothers },
	{ "direct: switched on later", switched_on_later },
	{ "direct: beyond the stack", beyond_stack },
	{ "direct: a detached one's module goes", detached_goes },
	{ "direct: a module that goes", module_goes },
	{ "direct: many", many },
	{ "direct: sleepers", sleepers },
	{ NULL, NULL },
};
