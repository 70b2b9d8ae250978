/* SPDX-License-Identifier: MIT */
/* Who may do what, what is refused, and what is left when a session ends. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD_POINTER 0x1000	/* never mapped */

/* Whether the kernel's JIT is on. */
static int native_expected(void)
{
	FILE *f = fopen("/proc/sys/net/core/bpf_jit_enable", "r");
	int on = 0;

	OK(f && fscanf(f, "%d", &on) == 1);
	if (f)
		fclose(f);
	return on != 0;
}

static void info_tells(void)
{
	int fd = session();
	struct kpl_info i = info(fd);

	EQ(i.abi, KPL_ABI_VERSION);
	EQ(i.nr_cpus, sysconf(_SC_NPROCESSORS_CONF));
	EQ(!!(i.features & KPL_FEATURE_JIT), native_expected());
	OK(i.features & KPL_FEATURE_KRETPROBE);
	EQ(i.exiting, 0);
	EQ(i.stops, 0);
	OK(i.memory > 0);
	close(fd);
}

/* So many at once, of all processes, and no more; one that ends makes room. */
static void so_many(void)
{
	struct rlimit before, files = { KPL_MAX_SESSIONS + 64, KPL_MAX_SESSIONS + 64 };
	int fds[KPL_MAX_SESSIONS], nr = 0, i;

	EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
	while (nr < KPL_MAX_SESSIONS && (fds[nr] = open(KPL_DEVICE, O_RDWR | O_CLOEXEC)) >= 0)
		nr++;
	FAILS(EUSERS, open(KPL_DEVICE, O_RDWR | O_CLOEXEC));
	OK(nr > KPL_MAX_SESSIONS / 2);	/* others may have some */
	close(fds[--nr]);
	fds[nr] = open(KPL_DEVICE, O_RDWR | O_CLOEXEC);
	OK(fds[nr] >= 0);
	for (i = 0; i <= nr; i++)
		close(fds[i]);
	EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void unknown_calls(void)
{
	int fd = session();

	FAILS(ENOTTY, ioctl(fd, _IO('K', 0x01), 0));
	FAILS(ENOTTY, ioctl(fd, _IO('K', 0xff), 0));
	FAILS(ENOTTY, ioctl(fd, _IOWR('X', 0x01, struct kpl_ring_setup), 0));
	FAILS(EFAULT, ioctl(fd, KPL_IOC_RING_SETUP, BAD_POINTER));
	FAILS(EFAULT, ioctl(fd, KPL_IOC_INFO, BAD_POINTER));
	close(fd);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* Functions that are there to be probed: called so often, unless a signal comes. */
static void bench(void)
{
	struct kpl_bench none = { .function = KPL_BENCH_FUNCTIONS, .calls = 1 }, zero = {};
	struct kpl_bench many = { .calls = KPL_MAX_BENCH + 1 }, most = { .calls = KPL_MAX_BENCH };
	struct sigaction action = { .sa_handler = on_alarm };
	int fd = session();
	unsigned f;
	pid_t pid;
	int status;

	FAILS(EINVAL, ioctl(fd, KPL_IOC_BENCH, &none));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_BENCH, &zero));
	FAILS(E2BIG, ioctl(fd, KPL_IOC_BENCH, &many));
	FAILS(EFAULT, ioctl(fd, KPL_IOC_BENCH, BAD_POINTER));
	for (f = 0; f < KPL_BENCH_FUNCTIONS; f++) {
		struct kpl_bench arg = { .function = f, .calls = 1000 };

		EQ(ioctl(fd, KPL_IOC_BENCH, &arg), 0);
		OK(arg.ns > 0);
	}
	/* The alarm comes again and again: one comes in time, however slow the machine is. */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 1000 }, { 0, 1000 } }, NULL);
	WAIT(ioctl(fd, KPL_IOC_BENCH, &most) < 0 && errno == EINTR);
	setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);
	/* Rights are those of any call. */
	pid = fork();
	if (!pid) {
		struct kpl_bench arg = { .calls = 1 };

		_exit(ioctl(fd, KPL_IOC_BENCH, &arg) == -1 && errno == EXDEV ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	EQ(status, 0);
	close(fd);
}

/* What small calls may not be given. */
static void bad_numbers(void)
{
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	int fd = session();

	map_create(fd, &map);
	FAILS(EINVAL, ioctl(fd, KPL_IOC_MAP_CLEAR, &(struct kpl_map_clear) { .id = map.id, .reserved = 1 }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_STATS, &(struct kpl_stats) { .reserved = 1 }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_SHARE, &(struct kpl_share) { .percent = 25, .reserved = 1 }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_SHARE, &(struct kpl_share) { .percent = 0 }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_SHARE, &(struct kpl_share) { .percent = KPL_SHARE_OFF + 1 }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_FREE, &(struct kpl_free) { .kind = KPL_FREE_PROG + 1 }));
	close(fd);
}

static void bad_maps(void)
{
	static const struct {
		struct kpl_map_create create;
		int error;
	} rows[] = {
		{ { .kind = KPL_MAP_KINDS }, EINVAL },
		{ { .kind = KPL_MAP_COUNT, .key_size = 7 }, EINVAL },
		{ { .kind = KPL_MAP_COUNT, .key_size = KPL_MAX_KEY + 8 }, E2BIG },
		{ { .kind = KPL_MAP_COUNT, .key_size = 0xfffffff8 }, E2BIG },
		{ { .kind = KPL_MAP_COUNT, .value_size = 8 }, EINVAL },
		{ { .kind = KPL_MAP_COUNT, .max_entries = KPL_MAX_ENTRIES + 1 }, E2BIG },
		{ { .kind = KPL_MAP_COUNT, .lo = 1 }, EINVAL },
		{ { .kind = KPL_MAP_HASH, .key_size = 8 }, EINVAL },
		{ { .kind = KPL_MAP_HASH, .value_size = 8 }, EINVAL },
		{ { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = KPL_MAX_VALUE + 8 }, E2BIG },
		{ { .kind = KPL_MAP_LHIST, .lo = 0, .hi = 10, .step = 0 }, EINVAL },
		{ { .kind = KPL_MAP_LHIST, .lo = 10, .hi = 10, .step = 1 }, EINVAL },
		{ { .kind = KPL_MAP_LHIST, .lo = 0, .hi = 10, .step = -1 }, EINVAL },
		{ { .kind = KPL_MAP_LHIST, .lo = 0, .hi = 10, .step = 11 }, EINVAL },
		{ { .kind = KPL_MAP_LHIST, .lo = INT64_MIN, .hi = INT64_MAX, .step = 1 }, E2BIG },
		{ { .kind = KPL_MAP_HIST, .key_size = KPL_MAX_KEY, .max_entries = KPL_MAX_ENTRIES }, EDQUOT },
	};
	int fd = session();
	unsigned i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kpl_map_create create = rows[i].create;
		int before = checks_failed;

		FAILS(rows[i].error, ioctl(fd, KPL_IOC_MAP_CREATE, &create));
		if (checks_failed != before)
			printf("  in row %u\n", i);
	}
	close(fd);
}

static void bad_programs(void)
{
	int fd = session();
	struct bpf_insn insns[] = { RETURN(0) };
	struct kpl_prog_load good = { .insns = (uintptr_t)insns, .nr_insns = 2 }, l;

#define REFUSED(error, field, value)					\
	l = good;							\
	l.field = (value);						\
	FAILS(error, ioctl(fd, KPL_IOC_PROG_LOAD, &l))
	REFUSED(EINVAL, nr_insns, 0);
	REFUSED(E2BIG, nr_insns, KPL_MAX_INSNS + 1);
	REFUSED(E2BIG, nr_insns, 0xffffffff);
	REFUSED(E2BIG, nr_labels, KPL_MAX_LABELS + 1);
	REFUSED(EFAULT, nr_labels, 1);
	REFUSED(EFAULT, insns, BAD_POINTER);
	REFUSED(EINVAL, kind, KPL_PROG_KINDS);
	REFUSED(EINVAL, flags, 1u << 31);
	REFUSED(EINVAL, reserved, 1);
	REFUSED(E2BIG, scratch_size, KPL_MAX_SCRATCH + 8);
	REFUSED(E2BIG, data_size, KPL_MAX_DATA + 8);
	REFUSED(E2BIG, budget, KPL_MAX_BUDGET + 1);
#undef REFUSED
	l = good;
	EQ(ioctl(fd, KPL_IOC_PROG_LOAD, &l), 0);
	EQ(l.id, 0);
	EQ(l.jited, native_expected());
	EQ(l.native_len > 0, native_expected());
	close(fd);
}

/* What the verifier says comes back with its reason and place. */
static void rejected_programs(void)
{
	int fd = session();
	struct kpl_prog_load l = { .kind = KPL_PROG_PRE };

	FAILS(EACCES, load_with(fd, &l, PROG(MOV(0, 5), EXIT)));
	EQ(l.reject, KPL_REJECT_UNINIT);
	EQ(l.reject_pc, 0);
	FAILS(EACCES, load_with(fd, &l, PROG(MOVI(0, 0), MAP(2, 0), EXIT)));
	EQ(l.reject, KPL_REJECT_MAP);
	EQ(l.reject_pc, 1);
	/* No ring yet: nothing may be emitted. */
	FAILS(EACCES, load_with(fd, &l, PROG(MOV(7, 1), MOVI(2, 0), MOVI(3, 8), MOVI(4, 0), CALL(rec_begin),
					     RETURN(0))));
	EQ(l.reject, KPL_REJECT_HELPER);
	/* A direct load of kernel memory. */
	FAILS(EACCES, load_with(fd, &l, PROG(CALL(task), LD(0, 0, 0), EXIT)));
	OK(l.reject != KPL_REJECT_NONE);
	EQ(l.reject_pc, 1);
	close(fd);
}

static void bad_attaches(void)
{
	int fd = session();
	int pre = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach good = probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, pre, KPL_NO_PROG), a;
	struct kpl_attach_batch batch = { .probes = BAD_POINTER, .nr = 1 };

	FAILS(EFAULT, ioctl(fd, KPL_IOC_ATTACH, &batch));
	batch.nr = 0;
	FAILS(EINVAL, ioctl(fd, KPL_IOC_ATTACH, &batch));
	batch.nr = KPL_MAX_PROBES + 1;
	FAILS(E2BIG, ioctl(fd, KPL_IOC_ATTACH, &batch));
#define REFUSED(reason, field, value)					\
	a = good;							\
	a.field = (value);						\
	FAILS(ECANCELED, attach(fd, &a, 1));				\
	EQ(a.error, -(reason))
	REFUSED(EINVAL, kind, KPL_PROBE_KINDS);
	REFUSED(EINVAL, flags, 4);
	REFUSED(EINVAL, prog[0], 7);
	REFUSED(EINVAL, prog[0], KPL_NO_PROG);
	REFUSED(EINVAL, prog[1], pre);
	REFUSED(EINVAL, maxactive, 1);
	REFUSED(EINVAL, when.mask, 64);
	REFUSED(ENOENT, addr, 0x1234);
	REFUSED(EINVAL, addr, symbol("kprobe_int3_handler") ?: symbol("get_kprobe"));
	/* The module's own text, from the hit path to the device. */
	REFUSED(EINVAL, addr, symbol("kpl_hit_pre"));
	REFUSED(EINVAL, addr, symbol("kpl_h_read64"));
	REFUSED(EINVAL, addr, symbol("kpl_interpret"));
	REFUSED(EINVAL, addr, symbol("kpl_attach"));
	REFUSED(EINVAL, addr, symbol("__SCT__might_resched"));
	REFUSED(EINVAL, addr, symbol("ftrace_caller") + 4);
	REFUSED(EINVAL, addr, symbol("__x86_return_thunk"));
	REFUSED(EINVAL, addr, symbol("native_write_msr"));
	/* An idle CPU polls by these: nobody could wait for a handler there. */
	REFUSED(EINVAL, addr, symbol("cpuidle_poll_time"));
	REFUSED(EINVAL, addr, symbol("tick_check_broadcast_expired"));
	REFUSED(EINVAL, addr, symbol("arch_cpu_idle"));
	REFUSED(EINVAL, addr, symbol("sched_clock_cpu"));
	good.kind = KPL_PROBE_FTRACE;
	REFUSED(EINVAL, addr, symbol("cpuidle_poll_time"));
	REFUSED(EINVAL, addr, symbol("tick_check_broadcast_expired"));
	good = probe_at("vfs_read", KPL_PROBE_KRETPROBE, KPL_NO_PROG, load(fd, KPL_PROG_RET, PROG(RETURN(0))));
	REFUSED(EINVAL, addr, symbol("arch_cpu_idle"));
	/* The kernel's return probes end by calling these. */
	if (symbol("preempt_schedule_notrace_thunk")) {
		REFUSED(EINVAL, addr, symbol("preempt_schedule_notrace_thunk"));
		REFUSED(EINVAL, addr, symbol("preempt_schedule_notrace"));
	}
#undef REFUSED
	EQ(kprobes_listed(), 0);
	FAILS(EINVAL, control(fd, KPL_CTL_ENABLE, 0));
	FAILS(EINVAL, control(fd, 3, 0));
	close(fd);
}

static void bad_mappings(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	struct kpl_ring_setup ring = { .size = 8192 };
	static const unsigned bad_sizes[] = { 0, 1, 4095, 6000, 0xffffffff };
	unsigned i;

#define NO_MMAP(error, size, prot, flags, off) \
	FAILS(error, (mmap(NULL, size, prot, flags, fd, off) == MAP_FAILED ? -1 : 0))
	map_create(fd, &map);
	NO_MMAP(EPERM, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, map.mmap_off);
	NO_MMAP(EPERM, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, map.mmap_off);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_PRIVATE, map.mmap_off);
	NO_MMAP(EINVAL, map.mmap_size + 4096, PROT_READ, MAP_SHARED, map.mmap_off);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_SHARED, map.mmap_off + 4096);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_SHARED, 0);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_SHARED, 1ll << 41);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_SHARED, 1ll << 62);
	for (i = 0; i < sizeof(bad_sizes) / sizeof(bad_sizes[0]); i++) {
		struct kpl_ring_setup bad = { .size = bad_sizes[i] };

		FAILS(EINVAL, ioctl(fd, KPL_IOC_RING_SETUP, &bad));
	}
	EQ(ioctl(fd, KPL_IOC_RING_SETUP, &ring), 0);
	FAILS(EBUSY, ioctl(fd, KPL_IOC_RING_SETUP, &ring));
	NO_MMAP(EPERM, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.data_off);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_SHARED, ring.data_off + 4096);
	NO_MMAP(EINVAL, 4096, PROT_READ, MAP_SHARED, ring.data_off + ring.nr_cpus * ring.data_stride);
	NO_MMAP(EPERM, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, ring.ctl_off);
	NO_MMAP(EINVAL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, ring.ctl_off);
	close(fd);
}

/* A read-only mapping can't be made writable afterwards. */
static void no_mprotect(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	void *area;

	map_create(fd, &map);
	area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, map.mmap_off);
	OK(area != MAP_FAILED);
	FAILS(EACCES, mprotect(area, 4096, PROT_READ | PROT_WRITE));
	FAILS(EACCES, mprotect(area, 4096, PROT_READ | PROT_EXEC));
	FAILS(EINVAL, madvise(area, 4096, MADV_DOFORK));
	munmap(area, 4096);
	close(fd);
}

static uint32_t pid_as_seen(int fd, uint32_t pid)
{
	struct kpl_pid ask = { .pid = pid };

	return ioctl(fd, KPL_IOC_PID, &ask) ? 0 : ask.pid;
}

/* Process 1 of a namespace of its own has another number outside, which a pipe brings. */
static void in_namespace(int unused)
{
	int fd, known[2], status;
	uint32_t outside;
	pid_t child;

	(void)unused;
	EQ(pipe(known), 0);
	EQ(unshare(CLONE_NEWPID), 0);
	fflush(stdout);
	child = fork();
	if (!child) {
		fd = session();
		EQ(read(known[0], &outside, sizeof(outside)), sizeof(outside));
		EQ(getpid(), 1);
		EQ(pid_as_seen(fd, 1), outside);
		EQ(pid_as_seen(fd, outside), 0);
		fflush(stdout);
		_exit(checks_failed ? 1 : 0);
	}
	outside = child;
	EQ(write(known[1], &outside, sizeof(outside)), sizeof(outside));
	waitpid(child, &status, 0);
	EQ(status, 0);
}

static void process_ids(void)
{
	int fd = session();
	struct kpl_pid bad = { .pid = 1, .reserved = 1 };

	EQ(pid_as_seen(fd, getpid()), getpid());
	FAILS(ESRCH, ioctl(fd, KPL_IOC_PID, &(struct kpl_pid){ .pid = 0x3fffff }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_PID, &bad));
	close(fd);
	in_child(in_namespace, -1);
}

/* -------------------------------------------------------------------- the end */

static int armed_session(void)
{
	int fd = session();
	int prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));

	attach_one(fd, probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	EQ(kprobes_listed(), 1);
	return fd;
}

static void close_disarms(void)
{
	int fd = armed_session();
	struct kpl_ring_setup ring = { .size = 4096 };
	void *area;

	/* Not even a mapping keeps a closed session armed. */
	EQ(ioctl(fd, KPL_IOC_RING_SETUP, &ring), 0);
	area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, ring.data_off);
	OK(area != MAP_FAILED);
	close(fd);
	EQ(kprobes_listed(), 0);
	OK(*(volatile char *)area == 0);
	munmap(area, 4096);
}

/* Whatever the opener calls is a sign of life; who only sleeps gives none. */
static void dead_man(void)
{
	int fd = armed_session();
	struct kpl_title title = { .name = "dead man", .dead_man = 3 };
	struct kpl_map_info map = { .id = map_simple(fd, KPL_MAP_COUNT, 0) };
	time_t until;

	EQ(ioctl(fd, KPL_IOC_TITLE, &title), 0);
	for (until = time(NULL) + 9; time(NULL) < until; usleep(1000))
		EQ(ioctl(fd, KPL_IOC_MAP_INFO, &map), 0);
	EQ(info(fd).dead, 0);
	EQ(kprobes_listed(), 1);
	WAIT(kprobes_listed() == 0);
	EQ(info(fd).dead, 1);
	close(fd);
}

/* A forked child that holds the file does not keep probes armed; it can't use it, either. */
static void orphaned_child(void)
{
	int status, ready[2], go[2];
	char c;
	pid_t opener;

	EQ(pipe(ready) | pipe(go), 0);
	fflush(stdout);
	opener = fork();
	if (!opener) {
		int fd = armed_session();

		if (!fork()) {
			struct pollfd p = { .fd = fd, .events = POLLIN };

			read(go[0], &c, 1);
			EQ(poll(&p, 1, 0), 1);
			EQ(p.revents & POLLHUP, POLLHUP);
			printf("%s", checks_failed ? "orphan: checks failed\n" : "");
			fflush(stdout);
			write(ready[1], checks_failed ? "F" : "G", 1);
			_exit(0);
		}
		write(ready[1], "r", 1);
		pause();
	}
	EQ(read(ready[0], &c, 1), 1);
	EQ(kprobes_listed(), 1);
	kill(opener, SIGKILL);
	waitpid(opener, &status, 0);
	EQ(kprobes_listed(), 0);
	write(go[1], "g", 1);
	EQ(read(ready[0], &c, 1), 1);
	EQ(c, 'G');
	close(ready[0]), close(ready[1]), close(go[0]), close(go[1]);
}

/* A child that could not be made closes its copy of the descriptor: the session goes on. */
static void failed_fork(void)
{
	pid_t taken = 1;
	struct clone_args child = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&taken, .set_tid_size = 1 };
	int fd = armed_session();

	FAILS(EEXIST, syscall(SYS_clone3, &child, sizeof(child)));
	EQ(kprobes_listed(), 1);
	map_simple(fd, KPL_MAP_COUNT, 0);
	close(fd);
	EQ(kprobes_listed(), 0);
}

static void *with_own_files(void *unused)
{
	EQ(unshare(CLONE_FILES), 0);
	return unused;
}

/* The end of a thread that has a table of descriptors of its own is not the process's. */
static void thread_with_own_files(void)
{
	int fd = armed_session();
	pthread_t thread;

	EQ(pthread_create(&thread, NULL, with_own_files, NULL), 0);
	EQ(pthread_join(thread, NULL), 0);
	usleep(100000);	/* joined before it has closed anything */
	EQ(kprobes_listed(), 1);
	map_simple(fd, KPL_MAP_COUNT, 0);
	close(fd);
	EQ(kprobes_listed(), 0);
}

/* A descriptor that survives exec() is of no use to the new program, and keeps nothing armed. */
static void exec_disarms(void)
{
	int ready[2], status;
	pid_t child;
	char c;

	EQ(pipe(ready), 0);
	fflush(stdout);
	child = fork();
	if (!child) {
		int fd = armed_session();

		fcntl(fd, F_SETFD, 0);
		write(ready[1], "r", 1);
		execl("/proc/self/exe", "abi_test", "--idle", NULL);
		_exit(1);
	}
	EQ(read(ready[0], &c, 1), 1);
	WAIT(!kprobes_listed());
	EQ(waitpid(child, &status, WNOHANG), 0);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(ready[0]), close(ready[1]);
}

static void child_closes(int fd)
{
	close(fd);
}

static void child_close_is_harmless(void)
{
	int fd = armed_session();

	in_child(child_closes, fd);
	EQ(kprobes_listed(), 1);
	close(fd);
	EQ(kprobes_listed(), 0);
}

static void many_sessions(void)
{
	int fds[20];
	unsigned i;

	for (i = 0; i < 20; i++) {
		int prog;

		fds[i] = session();
		prog = load(fds[i], KPL_PROG_PRE, PROG(RETURN(0)));
		attach_one(fds[i], probe_at("__x64_sys_getpriority", KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	}
	EQ(kprobes_listed(), 20);
	EQ(info(fds[0]).work_total, 2);
	EQ(info(fds[0]).work_done, 2);
	for (i = 0; i < 20; i++)
		close(fds[i]);
	EQ(kprobes_listed(), 0);
}

const struct test session_tests[] = {
	{ "info", info_tells },
	{ "so many sessions", so_many },
	{ "unknown calls", unknown_calls },
	{ "functions to probe", bench },
	{ "bad maps", bad_maps },
	{ "bad programs", bad_programs },
	{ "rejected programs", rejected_programs },
	{ "bad numbers", bad_numbers },
	{ "bad attaches", bad_attaches },
	{ "bad mappings", bad_mappings },
	{ "no mprotect", no_mprotect },
	{ "process ids", process_ids },
	{ "close disarms", close_disarms },
	{ "dead man", dead_man },
	{ "orphaned child", orphaned_child },
	{ "failed fork", failed_fork },
	{ "a thread with its own descriptors", thread_with_own_files },
	{ "exec disarms", exec_disarms },
	{ "a child's close is harmless", child_close_is_harmless },
	{ "many sessions", many_sessions },
	{ NULL, NULL },
};
