/* SPDX-License-Identifier: MIT */
/*
 * A test of the module's ABI by raw ioctls: no runtime, no compiler, programs
 * assembled by hand.  Run as root with the module loaded, debugfs mounted and
 * two CPUs:
 *
 *	cd tests/vm/abi
 *	gcc -static -O2 -I ../../../kmod/uapi -o abi_test *.c
 *	./abi_test		runs all tests; a line for each that fails (V=1: for each, its time)
 *	./abi_test NAME		runs one
 *	./abi_test --hold N	arms N probes that fire on two CPUs, for others to kill it
 *	./abi_test --sessions N [USER]	arms a probe in each of N sessions, then ends them one by one
 *				(as that user, with CAP_PERFMON and CAP_BPF alone)
 *	./abi_test --idle	sleeps (what a test executes)
 *	./abi_test --lockdown	locks the kernel down, for good, and checks what still works
 *
 * client32, for tests of rights, is found by PATH.
 * Exit status 0 when everything passed.  Whoever runs it scans the console.
 */
#define _GNU_SOURCE
#include "kit.h"

#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int run_group(const struct test *tests, const char *only, int *ran)
{
	int failed = 0, verbose = getenv("V") != NULL;
	double began;

	for (; tests->name; tests++) {
		if (only && strcmp(only, tests->name))
			continue;
		test_name = tests->name;
		checks_failed = 0;
		began = now();
		tests->run();
		if (verbose)
			printf("%-28s %6.2f s\n", test_name, now() - began);
		failed += checks_failed > 0;
		++*ran;
	}
	return failed;
}

static void spin_on(int cpu)
{
	stay_on(cpu);
	for (;;)
		syscall(SYS_getpriority, PRIO_PROCESS, 0);
}

/* Fires until it is killed: kprobes and return probes in turn, on both CPUs. */
static int hold(int n)
{
	int fd = session(), i;
	int pre = load(fd, KPL_PROG_PRE, PROG(CALL(now), RETURN(0)));
	int entry = load(fd, KPL_PROG_ENTRY, PROG(CALL(now), RETURN(0)));
	int ret = load(fd, KPL_PROG_RET, PROG(CALL(now), RETURN(0)));

	for (i = 0; i < n; i++)
		attach_one(fd, i % 2 ? probe_at("__x64_sys_getpriority", KPL_PROBE_KRETPROBE, entry, ret) :
				       probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, pre, KPL_NO_PROG));
	printf("armed %d\n", n);
	fflush(stdout);
	if (!fork())
		spin_on(1);
	spin_on(0);
	return 0;
}

static int sessions(int n, int user)
{
	struct kpl_attach probe = probe_at(CALLED, KPL_PROBE_KPROBE, 0, KPL_NO_PROG);
	int fds[KPL_MAX_SESSIONS], i;

	if (user)
		be_user(user, 1ull << CAP_PERFMON | 1ull << CAP_BPF);
	for (i = 0; i < n && i < KPL_MAX_SESSIONS; i++) {
		fds[i] = session();
		probe.prog[0] = load(fds[i], KPL_PROG_PRE, PROG(RETURN(0)));
		attach_one(fds[i], probe);
	}
	while (i--)
		close(fds[i]);
	return checks_failed > 0;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	int ran = 0, failed = 0;

	if (only && !strcmp(only, "--hold"))
		return hold(argc > 2 ? atoi(argv[2]) : 2);
	if (only && !strcmp(only, "--sessions"))
		return sessions(argc > 2 ? atoi(argv[2]) : 1, argc > 3 ? atoi(argv[3]) : 0);
	if (only && !strcmp(only, "--idle"))
		return pause();
	if (only && !strcmp(only, "--lockdown"))
		return locked_down();
	setvbuf(stdout, NULL, _IOLBF, 0);
	failed += run_group(session_tests, only, &ran);
	failed += run_group(rights_tests, only, &ran);
	failed += run_group(probe_tests, only, &ran);
	failed += run_group(source_tests, only, &ran);
	failed += run_group(trace_tests, only, &ran);
	failed += run_group(share_tests, only, &ran);
	failed += run_group(data_tests, only, &ran);
	failed += run_group(helper_tests, only, &ran);
	failed += run_group(native_tests, only, &ran);
	failed += run_group(free_tests, only, &ran);
	failed += run_group(together_tests, only, &ran);
	failed += run_group(direct_tests, only, &ran);
	failed += run_group(change_tests, only, &ran);
	failed += run_group(cpu_tests, only, &ran);
	printf("%d tests, %d failed\n", ran, failed);
	return failed || !ran;
}
