/* SPDX-License-Identifier: MIT */
/* Hits on a running kernel: what is counted must be exact. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLEEPS	"__x64_sys_clock_nanosleep"

#define COUNT_PROG(map)	PROG(MAP(2, map), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0))

static void count_exactly(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	unsigned id = map_create(fd, &map), probe;
	struct kpl_probe_stats s;

	probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE,
					load(fd, KPL_PROG_PRE, COUNT_PROG(id)), KPL_NO_PROG));
	call_on_both(20000);
	s = stats(fd, probe);
	EQ(s.entry.hits, 40000);
	EQ(s.entry.handled, 40000);
	EQ(s.ret.hits, 0);
	EQ(s.state, KPL_STATE_FTRACE);
	EQ(agg_total(fd, &map, 0), 40000);

	EQ(control(fd, KPL_CTL_DISABLE, probe), 0);
	EQ(stats(fd, probe).state, KPL_STATE_DISABLED);
	call(10);
	EQ(control(fd, KPL_CTL_ENABLE, probe), 0);
	call(7);
	EQ(agg_total(fd, &map, 0), 40007);
	EQ(control(fd, KPL_CTL_DETACH, probe), 0);
	EQ(kprobes_listed(), 0);
	call(10);
	s = stats(fd, probe);
	EQ(s.entry.hits, 40007);
	EQ(s.state, KPL_STATE_DETACHED);
	EQ(agg_total(fd, &map, 0), 40007);
	EQ(control(fd, KPL_CTL_DETACH, probe), 0);
	FAILS(ENOENT, control(fd, KPL_CTL_ENABLE, probe));
	close(fd);
}

static void interpreted(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	struct kpl_prog_load l = { .kind = KPL_PROG_PRE, .flags = KPL_PROG_F_INTERPRET };
	int prog = load_with(fd, &l, COUNT_PROG(map_create(fd, &map)));
	unsigned probe;

	OK(prog >= 0);
	EQ(l.jited, 0);
	EQ(l.native_len, 0);
	probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	call_on_both(1000);
	EQ(stats(fd, probe).entry.handled, 2000);
	EQ(agg_total(fd, &map, 0), 2000);
	close(fd);
}

/* An instruction inside the function: a breakpoint, or a jump after a while; with a post handler too. */
static void inside_and_post(void)
{
	int fd = session(), err;
	struct kpl_map_create pre = { .kind = KPL_MAP_COUNT }, post = { .kind = KPL_MAP_COUNT };
	struct kpl_attach two[2];
	struct kpl_probe_stats s;
	int pre_prog = load(fd, KPL_PROG_PRE, COUNT_PROG(map_create(fd, &pre)));
	int post_prog = load(fd, KPL_PROG_POST, COUNT_PROG(map_create(fd, &post)));

	two[0] = probe_at(CALLED, KPL_PROBE_KPROBE, pre_prog, post_prog);
	two[1] = probe_at("kpl_t_six", KPL_PROBE_KPROBE, pre_prog, KPL_NO_PROG);
	two[1].when.mask = KPL_WHEN_PID;
	two[1].when.pid = getpid();
	two[1].addr += 9;	/* or the next instruction, of another compiler's */
	while ((err = attach(fd, two, 2)) && two[1].addr++ < symbol("kpl_t_six") + 20)
		;
	EQ(err, 0);
	call(100);
	s = stats(fd, two[0].id);
	EQ(s.entry.handled, 100);
	EQ(s.ret.handled, 100);
	EQ(agg_total(fd, &post, 0), 100);
	s = stats(fd, two[1].id);
	OK(s.state == KPL_STATE_INT3 || s.state == KPL_STATE_OPTIMIZED);
	WAIT(stats(fd, two[1].id).state == KPL_STATE_OPTIMIZED);
	close(fd);
}

/* Entry stores, return reads; data is 16 bytes: a number and the argument's register. */
#define ENTRY_PROG	PROG(LD(2, 1, HIT(data)), STI(2, 0, 4711), LD(3, 1, HIT(regs)), LD(3, 3, 112), \
			     ST(2, 8, 3), RETURN(0))
#define RET_PROG(map)	PROG(LD(2, 1, HIT(data)), LD(3, 2, 0), LD(4, 1, HIT(ret)), ADDI(3, -4711), \
			     JNEI(3, 0, 6), JSLTI(4, 0, 5), MAP(2, map), MOVI(3, 0), CALL(agg_add), JA(0), \
			     RETURN(0))

static int load_data(int fd, unsigned kind, const struct bpf_insn *insns, unsigned nr)
{
	struct kpl_prog_load l = { .kind = kind, .data_size = 16 };
	int id = load_with(fd, &l, insns, nr);

	if (id < 0)
		printf("%s: refused: %u at %u\n", test_name, l.reject, l.reject_pc);
	OK(id >= 0);
	return id;
}

static void instance_data(void)
{
	int fd = session(), prio;
	struct kpl_map_create map = { .kind = KPL_MAP_SUM };
	unsigned id = map_create(fd, &map), probe;
	struct kpl_probe_stats s;

	probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KRETPROBE, load_data(fd, KPL_PROG_ENTRY, ENTRY_PROG),
					load_data(fd, KPL_PROG_RET, RET_PROG(id))));
	prio = syscall(SYS_getpriority, PRIO_PROCESS, 0);
	call_on_both(5000);
	s = stats(fd, probe);
	EQ(s.entry.handled, 10001);
	EQ(s.entry.hits, 10001);
	EQ(s.ret.handled, 10001);
	EQ(s.outstanding, 0);
	EQ(s.declined, 0);
	EQ(s.dropped, 0);
	EQ(agg_total(fd, &map, 0), 10001ull * prio);
	close(fd);
}

/* Without an entry handler; and one that declines every call; and one that faults. */
static void entry_decides(void)
{
	int fd = session();
	struct kpl_attach three[3];
	struct kpl_probe_stats s;
	int ret = load(fd, KPL_PROG_RET, PROG(RETURN(0)));
	int decline = load(fd, KPL_PROG_ENTRY, PROG(RETURN(KPL_RET_SKIP)));
	int stop = load(fd, KPL_PROG_ENTRY, PROG(RETURN(KPL_RET_STOP(KPL_STOP_NIL, 1))));

	three[0] = probe_at(CALLED, KPL_PROBE_KRETPROBE, KPL_NO_PROG, ret);
	three[1] = probe_at(CALLED, KPL_PROBE_KRETPROBE, decline, ret);
	three[2] = probe_at(CALLED, KPL_PROBE_KRETPROBE, stop, ret);
	EQ(attach(fd, three, 3), 0);
	call_on_both(500);
	s = stats(fd, three[0].id);
	EQ(s.entry.handled, 1000);
	EQ(s.ret.handled, 1000);
	EQ(s.outstanding, 0);
	s = stats(fd, three[1].id);
	EQ(s.entry.handled, 1000);
	EQ(s.declined, 1000);
	EQ(s.ret.hits, 0);
	EQ(s.outstanding, 0);
	s = stats(fd, three[2].id);
	EQ(s.entry.errors, 1000);
	EQ(s.entry.handled, 0);
	EQ(s.dropped, 1000);
	EQ(s.ret.hits, 0);
	EQ(s.outstanding, 0);
	close(fd);
}

/* Children that sleep in one call until they are killed, on which the call returns. */
static void start_sleepers(pid_t *pids, unsigned n)
{
	fflush(stdout);
	while (n--) {
		pids[n] = fork();
		if (!pids[n]) {
			struct timespec t = { .tv_sec = 1000 };

			clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
			_exit(0);
		}
	}
}

static void end_sleepers(const pid_t *pids, unsigned n)
{
	while (n--) {
		kill(pids[n], SIGKILL);
		waitpid(pids[n], NULL, 0);
	}
}

/* Five calls sleep at once, and three may be followed; with and without an entry handler. */
static void out_of_instances(void)
{
	int fd = session(), with;
	int entry = load(fd, KPL_PROG_ENTRY, PROG(RETURN(0)));
	int ret = load(fd, KPL_PROG_RET, PROG(RETURN(0)));

	for (with = 0; with < 2; with++) {
		struct kpl_attach a = probe_at(SLEEPS, KPL_PROBE_KRETPROBE, with ? entry : -1, ret);
		struct kpl_probe_stats s;
		pid_t pids[5];
		unsigned id;

		a.maxactive = 3;
		/* Others on the machine sleep, too. */
		a.when.mask = KPL_WHEN_COMM;
		strcpy(a.when.comm, "abi_test");
		id = attach_one(fd, a);
		start_sleepers(pids, 5);
		WAIT((s = stats(fd, id), s.entry.hits - s.entry.skipped >= 5));
		EQ(s.entry.hits - s.entry.skipped, 5);
		EQ(s.entry.handled, 3);
		EQ(s.entry.missed, 2);
		EQ(s.outstanding, 3);
		end_sleepers(pids, 5);
		s = stats(fd, id);
		EQ(s.ret.handled, 3);
		EQ(s.outstanding, 0);
		EQ(control(fd, KPL_CTL_DETACH, id), 0);
	}
	close(fd);
}

/* The session ends while functions with return probes sleep. */
static void ends_while_asleep(void)
{
	int fd = session();
	int ret = load(fd, KPL_PROG_RET, PROG(RETURN(0)));
	unsigned id = attach_one(fd, probe_at(SLEEPS, KPL_PROBE_KRETPROBE, KPL_NO_PROG, ret));
	pid_t pids[5];

	start_sleepers(pids, 5);
	WAIT(stats(fd, id).outstanding >= 5);
	close(fd);
	EQ(kprobes_listed(), 0);
	end_sleepers(pids, 5);
}

static void filters(void)
{
	int fd = session();
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_info info;
	struct kpl_attach a[6];
	unsigned i;

	for (i = 0; i < 6; i++)
		a[i] = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	a[0].when = (struct kpl_when) { .mask = KPL_WHEN_PID, .pid = getpid() };
	a[1].when = (struct kpl_when) { .mask = KPL_WHEN_TID, .tid = getpid() + 1 };
	a[2].when = (struct kpl_when) { .mask = KPL_WHEN_CPU, .cpu = 1 };
	a[3].when = (struct kpl_when) { .mask = KPL_WHEN_COMM, .comm = "abi_test" };
	a[4].when = (struct kpl_when) { .mask = KPL_WHEN_COMM, .comm = "abi_tes" };
	a[5].when = (struct kpl_when) { .mask = KPL_WHEN_OTHERS };
	EQ(attach(fd, a, 6), 0);
	call_on_both(100);
	EQ(stats(fd, a[0].id).entry.handled, 100);
	EQ(stats(fd, a[0].id).entry.skipped, 100);
	EQ(stats(fd, a[2].id).entry.handled, 100);
	EQ(stats(fd, a[2].id).entry.skipped, 100);
	EQ(stats(fd, a[3].id).entry.handled, 200);
	EQ(stats(fd, a[4].id).entry.skipped, 200);
	/* One of the two callers opened the session. */
	EQ(stats(fd, a[5].id).entry.handled, 100);
	EQ(stats(fd, a[5].id).entry.skipped, 100);
	EQ(ioctl(fd, KPL_IOC_INFO, &info), 0);
	OK(info.hits_own && info.hits_own <= info.hits_about);
	close(fd);
}

/* A probe on what another handler's helper calls: each such hit is missed, and counted. */
static void nested(void)
{
	int fd = session();
	struct kpl_prog_load l = { .kind = KPL_PROG_PRE, .scratch_size = 64 };
	int reads_user = load_with(fd, &l, PROG(LD(2, 1, HIT(scratch)), MOVI(3, 40), MOVI(4, 0), CALL(ustr),
						RETURN(0)));
	struct kpl_attach two[2];

	OK(reads_user >= 0);
	two[0] = probe_at(CALLED, KPL_PROBE_KPROBE, reads_user, KPL_NO_PROG);
	two[1] = probe_at("copy_from_user_nofault", KPL_PROBE_KPROBE,
			  load(fd, KPL_PROG_PRE, PROG(RETURN(0))), KPL_NO_PROG);
	EQ(attach(fd, two, 2), 0);
	call(1000);
	EQ(stats(fd, two[0].id).entry.handled, 1000);
	EQ(stats(fd, two[1].id).entry.missed, 1000);
	EQ(stats(fd, two[1].id).entry.handled, 0);
	close(fd);
}

static void all_or_none(void)
{
	int fd = session();
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	int ret = load(fd, KPL_PROG_RET, PROG(RETURN(0)));
	struct kpl_attach good[3], a[3];
	struct kpl_attach_batch batch = { .probes = (uintptr_t)a, .nr = 3 };

	good[0] = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	good[1] = probe_at("vfs_read", KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	good[1].addr = 16;
	good[2] = probe_at(CALLED, KPL_PROBE_KRETPROBE, KPL_NO_PROG, ret);

	memcpy(a, good, sizeof(a));
	FAILS(ECANCELED, ioctl(fd, KPL_IOC_ATTACH, &batch));
	EQ(batch.failed, 1);
	EQ(a[0].error, -ECANCELED);
	OK(a[1].error != 0 && a[1].error != -ECANCELED);
	EQ(a[2].error, -ECANCELED);
	EQ(kprobes_listed(), 0);

	memcpy(a, good, sizeof(a));
	a[1].flags = KPL_ATTACH_F_OPTIONAL;
	a[2].flags = KPL_ATTACH_F_DISABLED;
	EQ(ioctl(fd, KPL_IOC_ATTACH, &batch), 0);
	EQ(batch.failed, 1);
	EQ(a[0].error, 0);
	EQ(a[0].id, 0);
	OK(a[1].error != 0);
	EQ(a[2].error, 0);
	EQ(a[2].id, 1);
	EQ(stats(fd, 1).state, KPL_STATE_DISABLED);
	call(10);
	EQ(stats(fd, 0).entry.handled, 10);
	EQ(stats(fd, 1).entry.hits, 0);
	EQ(control(fd, KPL_CTL_ENABLE, 1), 0);
	call(10);
	EQ(stats(fd, 1).ret.handled, 10);
	close(fd);
	EQ(kprobes_listed(), 0);
}

/* The address of a NULL pointer is bad: the fault handler runs instead, the site is known. */
static void faults_and_sites(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_SUM };
	unsigned id = map_create(fd, &map), probe;
	struct kpl_attach a;
	struct kpl_site sites[4];
	struct kpl_prog_sites q = { .nr = 4, .sites = (uintptr_t)sites };
	struct kpl_probe_stats s;
	int bad = load(fd, KPL_PROG_PRE, PROG(MOV(6, 1), MOVI(2, 8), CALL(read64), LDW(0, 6, HIT(status)),
					      JEQI(0, 0, 2), MOVI(0, KPL_RET_STOP(KPL_STOP_READ, 2)), EXIT,
					      RETURN(0)));
	int fault = load(fd, KPL_PROG_FAULT, PROG(LD(4, 1, HIT(bad_addr)), MAP(2, id), MOVI(3, 0), CALL(agg_add),
						  RETURN(0)));

	a = probe_at(CALLED, KPL_PROBE_KPROBE, bad, KPL_NO_PROG);
	a.prog[2] = fault;
	probe = attach_one(fd, a);
	call_on_both(100);
	s = stats(fd, probe);
	EQ(s.entry.faults, 200);
	EQ(s.entry.handled, 0);
	EQ(agg_total(fd, &map, 0), 200 * 8);
	q.id = bad;
	EQ(ioctl(fd, KPL_IOC_PROG_SITES, &q), 0);
	EQ(q.nr, 1);
	EQ(sites[0].pc, 2);
	EQ(sites[0].reason, KPL_STOP_READ);
	EQ(sites[0].count, 200);
	EQ(sites[0].bad_addr, 8);
	OK(sites[0].first > 0);
	EQ(info(fd).stops, 200);
	close(fd);
}

/* A program that stops for bad memory which it has not read: no address of an earlier hit's is told. */
static void stops_without_address(void)
{
	int fd = session(), reads, stops;
	struct kpl_site site = {};
	struct kpl_prog_sites q = { .nr = 1, .sites = (uintptr_t)&site };
	unsigned engine;

	stay_on(0);
	reads = load(fd, KPL_PROG_PRE, PROG(MOVI(2, 8), CALL(read64), RETURN(0)));
	for (engine = 0; engine < 2; engine++) {
		struct kpl_prog_load l = { .flags = engine ? KPL_PROG_F_INTERPRET : 0 };
		unsigned probe;

		stops = load_with(fd, &l, PROG(RETURN(KPL_RET_STOP(KPL_STOP_READ, 0))));
		probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, stops, KPL_NO_PROG));
		EQ(run(fd, reads), 0);
		call(1);
		q.id = stops;
		EQ(ioctl(fd, KPL_IOC_PROG_SITES, &q), 0);
		EQ(q.nr, 1);
		EQ(site.count, 1);
		EQ(site.bad_addr, 0);
		EQ(control(fd, KPL_CTL_DETACH, probe), 0);
	}
	/* What is read is told, also by a program that does not ask whether it could. */
	stops = load(fd, KPL_PROG_PRE, PROG(MOVI(2, 16), CALL(read64), RETURN(KPL_RET_STOP(KPL_STOP_READ, 1))));
	attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, stops, KPL_NO_PROG));
	call(1);
	q.id = stops;
	EQ(ioctl(fd, KPL_IOC_PROG_SITES, &q), 0);
	EQ(site.bad_addr, 16);
	close(fd);
}

static void endless_loop(void)
{
	int fd = session();
	struct kpl_label label = { .pc = 1 };
	struct kpl_prog_load l = {
		.kind = KPL_PROG_PRE, .labels = (uintptr_t)&label, .nr_labels = 1, .budget = 5000,
	};
	int prog = load_with(fd, &l, PROG(MOVI(6, 0), MOVI(6, 1), JA(-2)));
	unsigned probe;

	if (prog < 0)
		printf("%s: refused: %u at %u\n", test_name, l.reject, l.reject_pc);
	OK(prog >= 0);
	probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	call(100);
	EQ(stats(fd, probe).entry.overruns, 100);
	close(fd);
}

/* After exit() nothing is delivered. */
static void exits(void)
{
	int fd = session();
	int prog = load(fd, KPL_PROG_PRE, PROG(MOVI(2, -3), CALL(exit), RETURN(0)));
	unsigned probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	struct kpl_info i;

	EQ(info(fd).exiting, 0);
	call(5);
	i = info(fd);
	EQ(i.exiting, 1);
	EQ(i.exit_code, -3);
	EQ(stats(fd, probe).entry.hits, 1);
	close(fd);
}

const struct test probe_tests[] = {
	{ "count exactly", count_exactly },
	{ "interpreted", interpreted },
	{ "inside and post", inside_and_post },
	{ "instance data", instance_data },
	{ "entry decides", entry_decides },
	{ "out of instances", out_of_instances },
	{ "ends while asleep", ends_while_asleep },
	{ "filters", filters },
	{ "nested", nested },
	{ "all or none", all_or_none },
	{ "faults and sites", faults_and_sites },
	{ "stops without an address", stops_without_address },
	{ "endless loop", endless_loop },
	{ "exits", exits },
	{ NULL, NULL },
};
