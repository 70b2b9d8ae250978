/* SPDX-License-Identifier: MIT */
/*
 * Measures what each helper takes at its worst, by the VM's clock that counts
 * instructions, against what helpers.def declares.
 *
 *	helper_costs LONG_STRING PATH	their addresses: 8 KB without a zero byte, then one;
 *					a struct path that the target's `path` changes
 *
 * A program calls the helper many times in a row; what its calls add to the
 * time of a run must be no more than what they add to the program's cost.
 * A line for each measurement: helper, case, declared, measured.
 */
#define _GNU_SOURCE
#include "costs.h"

#include <asm/ptrace.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures;
static unsigned char measured[KPL_H_END_];

/* The frames that ustack walks: each points to the next, all are readable. */
static unsigned long frames[2 * 512];

/* The run, with the frame pointer at the first of `frames`. */
static long run_framed(int fd, struct kpl_prog_run *run)
{
	long ret;

	asm volatile("mov %%rbp, %%rbx\n\tmov %[fp], %%rbp\n\tsyscall\n\tmov %%rbx, %%rbp"
		     : "=a"(ret)
		     : "0"(SYS_ioctl), "D"((long)fd), "S"((long)KPL_IOC_PROG_RUN), "d"(run),
		       [fp] "r"(frames)
		     : "rbx", "rcx", "r11", "memory");
	return ret;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

#define RUNS	15	/* the fastest counts: the others were interrupted */

static long long time_of(int fd, struct kpl_prog_run *run, int runs)
{
	long long best = -1;

	while (runs--) {
		long long began = now(), took;

		if (run_framed(fd, run)) {
			printf("FAILED: run\n");
			exit(1);
		}
		took = now() - began;
		if (best < 0 || took < best)
			best = took;
	}
	return best;
}

static unsigned load_copies(const struct measurement *m, unsigned copies, unsigned *cost)
{
	static struct code code;
	struct kpl_prog_load load = {
		.kind = KPL_PROG_RET, .data_size = KPL_MAX_DATA, .scratch_size = KPL_MAX_SCRATCH,
		.budget = KPL_MAX_BUDGET,
	};
	unsigned i;
	int id;

	if (m->changes) {
		load.kind = KPL_PROG_PRE;
		load.data_size = 0;
	}
	code.nr = 0;
	put(&code, MOV(6, 1));
	put(&code, LD(7, 1, HIT(scratch)));
	if (!m->changes)
		put(&code, LD(8, 1, HIT(data)));
	if (m->prepare)
		m->prepare(&code, m);
	for (i = 0; i < copies; i++)
		m->call(&code, m, i);
	put(&code, MOVI(0, 0));
	put(&code, EXIT);
	id = load_with(m->fd, &load, code.insns, code.nr);
	if (id < 0) {
		printf("FAILED: %s, %s: refused (reason %u at %u)\n", m->helper, m->what, load.reject,
		       load.reject_pc);
		exit(1);
	}
	*cost = load.cost;
	return id;
}

static struct kpl_attach hits_of(enum hits by, int prog)
{
	struct kpl_attach a = { .prog = { prog, KPL_NO_PROG, KPL_NO_PROG } };

	switch (by) {
	case BY_DEEP_KPROBE:
		return probe_at("kpl_t_recurse", KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	case BY_DEEP_TRACEPOINT:
		a.kind = KPL_PROBE_TRACEPOINT;
		a.addr = symbol("__bpf_trace_tp_map_kpl_t_bare");
		return a;
	case BY_SWITCHES:
		a.kind = KPL_PROBE_EVENT;
		a.event = KPL_EVENT_SOFTWARE;
		a.addr = PERF_COUNT_SW_CONTEXT_SWITCHES;
		a.period = 1;
		return a;
	}
	abort();
}

/* Of 100 calls with a kprobe, the deepest runs the program, all others only begin it. */
static unsigned attach_copies(const struct measurement *m, int fd, unsigned copies, unsigned *cost)
{
	static struct code code;
	struct kpl_prog_load load = {
		.kind = m->by == BY_DEEP_TRACEPOINT ? KPL_PROG_TRACEPOINT : KPL_PROG_PRE,
		.scratch_size = KPL_MAX_SCRATCH, .budget = KPL_MAX_BUDGET,
	};
	unsigned i, skip = 0;
	int id;

	code.nr = 0;
	put(&code, MOV(6, 1));
	put(&code, LD(7, 1, HIT(scratch)));
	if (m->by == BY_DEEP_KPROBE) {
		put(&code, LD(2, 1, HIT(regs)));
		put(&code, LD(3, 2, offsetof(struct pt_regs, rdi)));
		skip = code.nr;
		put(&code, JNEI(3, 0, 0));
	}
	for (i = 0; i < copies; i++)
		m->call(&code, m, i);
	if (skip)
		code.insns[skip].off = code.nr - skip - 1;
	put(&code, MOVI(0, 0));
	put(&code, EXIT);
	id = load_with(fd, &load, code.insns, code.nr);
	*cost = load.cost;
	return attach_one(fd, hits_of(m->by, id));
}

static long long time_of_recursion(void)
{
	int fd = open("/sys/module/kpl_target/parameters/run", O_WRONLY), i;
	long long best = -1;

	for (i = 0; i < RUNS; i++) {
		long long began = now(), took;

		if (write(fd, "recurse 100", 11) != 11)
			exit(1);
		took = now() - began;
		if (best < 0 || took < best)
			best = took;
	}
	close(fd);
	return best;
}

#define ROUNDS	100	/* two switches each */

/* Of one switch, from process to process. */
static long long time_of_switches(void)
{
	long long best = -1;
	int to[2], back[2], i, n;
	char byte = 0;
	pid_t other;

	if (pipe(to) || pipe(back))
		exit(1);
	other = fork();
	if (!other)
		while (read(to[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
	for (i = 0; i < RUNS; i++) {
		long long began = now(), took;

		for (n = 0; n < ROUNDS; n++)
			if (write(to[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
				exit(1);
		took = now() - began;
		if (best < 0 || took < best)
			best = took;
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	close(to[0]), close(to[1]), close(back[0]), close(back[1]);
	return best / (2 * ROUNDS);
}

static long long total_at_hits(const struct measurement *m, unsigned copies, unsigned *cost)
{
	struct kpl_share share = { .percent = 100 };
	struct kpl_probe_stats seen;
	int fd = session();
	long long took;
	unsigned probe;

	EQ(ioctl(fd, KPL_IOC_SHARE, &share), 0);
	probe = attach_copies(m, fd, copies, cost);
	took = m->by == BY_SWITCHES ? time_of_switches() : time_of_recursion();
	seen = stats(fd, probe);
	if (seen.entry.handled < RUNS * (m->by == BY_SWITCHES ? ROUNDS : 1) || seen.entry.missed) {
		printf("FAILED: %s, %s: %llu hits\n", m->helper, m->what, (unsigned long long)seen.entry.handled);
		failures++;
	}
	close(fd);
	return took;
}

static long long total_by(const struct measurement *m, unsigned copies, unsigned *cost, int runs)
{
	static uint64_t data[KPL_MAX_DATA / 8];
	struct kpl_prog_run run = {
		.id = load_copies(m, copies, cost), .data = (uintptr_t)data, .data_size = m->changes ? 0 : sizeof(data),
	};
	struct kpl_free program = { .kind = KPL_FREE_PROG, .id = run.id };
	long long took = time_of(m->fd, &run, runs);

	EQ(ioctl(m->fd, KPL_IOC_FREE, &program), 0);
	return took;
}

static long long total_of(const struct measurement *m, unsigned copies, unsigned *cost)
{
	struct kpl_free map = { .kind = KPL_FREE_MAP };
	struct measurement one = *m;
	long long best = -1, took;
	int i;

	if (!m->fresh)
		return total_by(m, copies, cost, RUNS);
	for (i = 0; i < RUNS; i++) {
		struct kpl_map_create create = *m->fresh;

		one.a = map.id = map_create(m->fd, &create);
		took = total_by(&one, copies, cost, 1);
		if (best < 0 || took < best)
			best = took;
		EQ(ioctl(m->fd, KPL_IOC_FREE, &map), 0);
	}
	return best;
}

void measure(const struct measurement *m)
{
	long long (*total)(const struct measurement *, unsigned, unsigned *) = m->by ? total_at_hits : total_of;
	unsigned copies = m->copies ? m->copies : 16, none, all;
	long long base = total(m, 0, &none), took = total(m, copies, &all);
	double per_call = (double)(took - base) / copies, declared = (double)(all - none) / copies;
	int fits;

	declared += (double)m->extra / copies;
	fits = per_call <= declared;
	printf("%-13s %-28s declared %7.0f measured %9.1f%s\n", m->helper, m->what, declared, per_call,
	       fits ? "" : "  FAILED");
	failures += !fits;
	measured[m->id] = 1;
}

static void chain_frames(void)
{
	unsigned i;

	for (i = 0; i + 1 < sizeof(frames) / sizeof(frames[0]) / 2; i++) {
		frames[2 * i] = (uintptr_t)&frames[2 * i + 2];
		frames[2 * i + 1] = 0x400000 + i;
	}
	frames[2 * i] = 0;
	frames[2 * i + 1] = 0x400000 + i;
}

/* Rows that no measurement has named. */
static void check_all(void)
{
#define HELPER(id, name, ...)						\
	if (!measured[id]) {						\
		printf("FAILED: %s is not measured\n", #name);		\
		failures++;						\
	}
#include "helpers.def"
#undef HELPER
}

int main(int argc, char **argv)
{
	uint64_t text;

	if (argc != 3)
		return 2;
	prctl(PR_SET_NAME, "two words of it");	/* costs more than one */
	chain_frames();
	measure_simple();
	text = strtoull(argv[1], NULL, 16);
	measure_memory(text, strtoull(argv[2], NULL, 16));
	measure_maps();
	measure_records(text);
	check_all();
	printf("%d failed\n", failures);
	return failures != 0;
}
