/* SPDX-License-Identifier: MIT */
/* Entry probes by ftrace: the same meaning as kprobes', by another way. */
#define _GNU_SOURCE
#include "kit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
	/* Off, while ftrace still calls for the other one. */
	EQ(control(fd, KPL_CTL_DISABLE, a[0].id), 0);
	call(7);
	EQ(stats(fd, a[0].id).entry.hits, 10);
	EQ(stats(fd, a[2].id).entry.handled, 17);
	EQ(control(fd, KPL_CTL_ENABLE, a[0].id), 0);
	EQ(control(fd, KPL_CTL_DISABLE, a[2].id), 0);
	call(7);
	EQ(stats(fd, a[2].id).entry.hits, 17);
	EQ(control(fd, KPL_CTL_ENABLE, a[2].id), 0);
	EQ(stats(fd, a[0].id).entry.handled, 17);
	EQ(control(fd, KPL_CTL_DETACH, a[0].id), 0);
	EQ(control(fd, KPL_CTL_DISABLE, a[1].id), 0);
	EQ(traced_functions(), before + 1);
	call(10);
	getpgid(0);
	EQ(stats(fd, a[0].id).entry.handled, 17);
	EQ(stats(fd, a[1].id).entry.handled, 20);
	EQ(stats(fd, a[2].id).entry.handled, 27);
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
	int post = load(fd, KPL_PROG_POST, PROG(RETURN(0)));
	struct kpl_attach a[4] = {
		traced(CALLED, reads_user), traced("copy_from_user_nofault", empty),
		probe_at("copy_from_user_nofault", KPL_PROBE_KPROBE, empty, KPL_NO_PROG),
		probe_at("copy_from_user_nofault", KPL_PROBE_FTRACE, KPL_NO_PROG, post),
	};

	EQ(attach(fd, a, 4), 0);
	call(1000);
	EQ(stats(fd, a[3].id).entry.hits, 0);
	EQ(stats(fd, a[3].id).ret.missed, 1000);
	EQ(stats(fd, a[0].id).entry.handled, 1000);
	EQ(stats(fd, a[1].id).entry.missed, 1000);
	EQ(stats(fd, a[1].id).entry.handled, 0);
	EQ(stats(fd, a[2].id).entry.missed, 1000);
	close(fd);
}

/* What a handler reads at this offset of the registers, at one call with nothing else attached. */
static uint64_t register_by(unsigned kind, int offset)
{
	int fd = session(), prog;
	struct kpl_map_create sum = { .kind = KPL_MAP_SUM };
	unsigned id = map_create(fd, &sum);
	uint64_t value;

	prog = load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, offset), MAP(2, id), MOVI(3, 0),
					   CALL(agg_add), RETURN(0)));
	attach_one(fd, probe_at(CALLED, kind, prog, KPL_NO_PROG));
	call(1);
	value = agg_total(fd, &sum, 0);
	close(fd);
	return value;
}

/* The stack moves from one system call to the next: both kinds at the same one. */
static void stack_pointer(void)
{
	static const unsigned kinds[] = { KPL_PROBE_FTRACE, KPL_PROBE_KPROBE };
	int fd = session();
	struct kpl_map_create sum[2] = { { .kind = KPL_MAP_SUM }, { .kind = KPL_MAP_SUM } };
	struct kpl_attach a[2];
	unsigned i, id;

	for (i = 0; i < 2; i++) {
		id = map_create(fd, &sum[i]);
		a[i] = probe_at(CALLED, kinds[i],
				load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 152), MAP(2, id), MOVI(3, 0),
							    CALL(agg_add), RETURN(0))), KPL_NO_PROG);
	}
	EQ(attach(fd, a, 2), 0);
	call(1);
	OK(agg_total(fd, &sum[0], 0) != 0);
	EQ(agg_total(fd, &sum[0], 0), agg_total(fd, &sum[1], 0));
	close(fd);
}

/* Whichever register a program reads: those that ftrace always brings, and those it must ask for. */
static void registers(void)
{
	static const int same[] = { 112 /* di */, 128 /* ip */, 136 /* cs */, 160 /* ss */, 120 /* orig_ax */ };
	uint64_t ip = register_by(KPL_PROBE_FTRACE, 128) - symbol(CALLED);
	unsigned i;

	for (i = 0; i < sizeof(same) / sizeof(*same); i++)
		EQ(register_by(KPL_PROBE_FTRACE, same[i]), register_by(KPL_PROBE_KPROBE, same[i]));
	EQ(register_by(KPL_PROBE_FTRACE, 136), 0x10);
	OK(ip == 1 || ip == 5);	/* behind the breakpoint; a landing pad may stand before it */
}

/* A filter leaves the registers as ftrace brought them: the traced function goes on where it must. */
static void filtered(void)
{
	int fd = session();
	int prog = load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 128), RETURN(0)));
	struct kpl_attach a[2] = { traced(CALLED, prog), traced(CALLED, prog) };

	a[0].when.mask = a[1].when.mask = KPL_WHEN_PID;
	a[0].when.pid = getpid();
	a[1].when.pid = 1;
	EQ(attach(fd, a, 2), 0);
	call(100);
	EQ(stats(fd, a[0].id).entry.handled, 100);
	EQ(stats(fd, a[0].id).entry.skipped, 0);
	EQ(stats(fd, a[1].id).entry.handled, 0);
	EQ(stats(fd, a[1].id).entry.skipped, 100);
	close(fd);
}

/* Where ftrace has no site, a kprobe is taken if asked for; where there is no instruction, none. */
static void else_kprobe(void)
{
	int fd = session(), before = traced_functions(), kprobes = kprobes_listed();
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a[4] = { traced(CALLED, prog), traced("do_syscall_64", prog), traced("vfs_read", prog),
				   traced("vfs_write", prog) };
	unsigned i;

	for (i = 0; i < 4; i++)
		a[i].flags = KPL_ATTACH_F_ELSE_KPROBE | KPL_ATTACH_F_OPTIONAL;
	a[2].addr += 4 + 5;	/* behind the site, or within it */
	a[3].addr = 16;
	EQ(attach(fd, a, 4), 0);
	EQ(a[0].kind, KPL_PROBE_FTRACE);
	EQ(a[0].error, 0);
	EQ(a[1].error, -EINVAL);	/* blacklisted */
	EQ(a[3].error, -ENOENT);	/* kprobes' word for no function */
	EQ(traced_functions(), before + 1 + (a[2].error == 0 && a[2].kind == KPL_PROBE_FTRACE));
	EQ(kprobes_listed(), kprobes + (a[2].error == 0 && a[2].kind == KPL_PROBE_KPROBE));
	call(3);
	EQ(stats(fd, a[0].id).entry.handled, 3);
	close(fd);
	a[0] = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	a[0].flags = KPL_ATTACH_F_ELSE_KPROBE;
	fd = session();
	a[0].prog[0] = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	FAILS(ECANCELED, attach(fd, a, 1));
	EQ(a[0].error, -EINVAL);
	close(fd);
}

/*
 * Post and fault handlers around a site: by ftrace, and by a kprobe, which the
 * kernel knows without a post handler.  Hits, and what handlers see, are the same.
 */
static void around(void)
{
	static const unsigned kinds[] = { KPL_PROBE_FTRACE, KPL_PROBE_KPROBE };
	int fd = session(), bad, post, prog;
	struct kpl_map_create sums[2][2] = { { { .kind = KPL_MAP_SUM }, { .kind = KPL_MAP_SUM } },
					     { { .kind = KPL_MAP_SUM }, { .kind = KPL_MAP_SUM } } };
	struct kpl_attach a[8];
	unsigned i, side, ids[2];

	prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	post = load(fd, KPL_PROG_POST, PROG(RETURN(0)));
	bad = load(fd, KPL_PROG_PRE, PROG(RETURN(KPL_RET_STOP(KPL_STOP_READ, 0))));
	for (i = 0; i < 2; i++) {
		for (side = 0; side < 2; side++)
			ids[side] = map_create(fd, &sums[i][side]);
		a[i] = probe_at(CALLED, kinds[i],
				load(fd, KPL_PROG_PRE, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 128), MAP(2, ids[0]),
							    MOVI(3, 0), CALL(agg_add), RETURN(0))),
				load(fd, KPL_PROG_POST, PROG(LD(2, 1, HIT(regs)), LD(4, 2, 128), MAP(2, ids[1]),
							     MOVI(3, 0), CALL(agg_add), RETURN(0))));
		a[2 + i] = probe_at(CALLED, kinds[i], KPL_NO_PROG, post);
		a[4 + i] = probe_at(CALLED, kinds[i], bad, post);
		a[4 + i].prog[2] = load(fd, KPL_PROG_FAULT, PROG(RETURN(0)));
		a[6 + i] = probe_at(CALLED, kinds[i], prog, post);
		a[6 + i].when = (struct kpl_when) { .mask = KPL_WHEN_PID, .pid = 1 };
	}
	EQ(attach(fd, a, 8), 0);
	call(10);
	for (i = 0; i < 2; i++) {
		uint64_t pre_ip = agg_total(fd, &sums[i][0], 0), post_ip = agg_total(fd, &sums[i][1], 0);
		struct kpl_probe_stats s = stats(fd, a[i].id);

		EQ(post_ip - pre_ip, 10 * 4);	/* behind the breakpoint, and behind the nop of 5 bytes */
		EQ(pre_ip, agg_total(fd, &sums[1 - i][0], 0));
		EQ(s.state, KPL_STATE_FTRACE);
		EQ(s.entry.handled, 10);
		EQ(s.ret.handled, 10);
		s = stats(fd, a[2 + i].id);
		EQ(s.entry.hits, 0);
		EQ(s.ret.handled, 10);
		s = stats(fd, a[4 + i].id);
		EQ(s.entry.faults, 10);
		EQ(s.ret.handled, 10);
		s = stats(fd, a[6 + i].id);
		EQ(s.entry.skipped, 10);
		EQ(s.ret.skipped, 10);
	}
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

static void armed_in_namespace(int go)
{
	int fd = session();

	attach_one(fd, traced(CALLED, load(fd, KPL_PROG_PRE, PROG(RETURN(0)))));
	attach_one(fd, probe_at("__x64_sys_getpgid", KPL_PROBE_DIRECT, KPL_NO_PROG, load(fd, KPL_PROG_RET, PROG(RETURN(0)))));
	write(go, "a", 1);
	pause();
}

/*
 * The end of a PID namespace waits for the processes in it, and on 6.1, so does what they wait for in turn when they
 * detach.
 */
static void namespace_ends(void)
{
	int before = traced_functions(), ended = 0, fd, go[2];
	pid_t init;
	char c;

	EQ(pipe(go), 0);
	fflush(stdout);
	init = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (!init) {
		if (!fork())
			armed_in_namespace(go[1]);
		pause();
	}
	EQ(read(go[0], &c, 1), 1);
	OK(traced_functions() >= before + 2);
	kill(init, SIGKILL);
	WAIT(ended || (ended = waitpid(init, NULL, WNOHANG) == init));
	WAIT(traced_functions() == before);
	fd = session();
	WAIT(info(fd).memory_all == info(fd).memory);
	close(fd);
	close(go[0]);
	close(go[1]);
}

const struct test trace_tests[] = {
	{ "traced exactly", traced_exactly },
	{ "several in one", several_in_one },
	{ "not a site", not_a_site },
	{ "traced nested", traced_nested },
	{ "registers", registers },
	{ "stack pointer", stack_pointer },
	{ "filtered", filtered },
	{ "else kprobe", else_kprobe },
	{ "around", around },
	{ "together", together },
	{ "a namespace that ends", namespace_ends },
	{ NULL, NULL },
};
