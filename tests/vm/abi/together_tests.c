/* SPDX-License-Identifier: MIT */
/* Sessions beside each other: memory that all of them share, and that nobody waits for another one. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB	(1ull << 20)
#define PERCENT	"/sys/module/kprobe_lua/parameters/memory_percent"
#define GROUP	"/sys/fs/cgroup/abi_test"

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	close(fd);
	return ok;
}

/* The number after `key` in a file of such lines; without a key, the first one. */
static long long number_in(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	long long value = -1;
	char line[256];

	while (f && value < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), "%lld", &value);
	if (f)
		fclose(f);
	return value;
}

/* ------------------------------------------------------------------- memory */

/* A map of about so many bytes; 0 or the errno. */
static int take(int fd, uint64_t bytes)
{
	struct kpl_map_create create = { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 4072 };

	create.max_entries = bytes / 4096;
	return ioctl(fd, KPL_IOC_MAP_CREATE, &create) ? errno : 0;
}

static int take_all(int fd, uint64_t step)
{
	int error;

	while (!(error = take(fd, step)))
		continue;
	return error;
}

static void all_sessions_share(void)
{
	int watch = session(), fds[3];
	struct kpl_info before;

	OK(write_file(PERCENT, "4"));
	before = info(watch);
	fds[0] = session(), fds[1] = session(), fds[2] = session();
	EQ(take_all(fds[0], 4 * MB), EDQUOT);
	OK(info(watch).memory_all <= before.memory_limit);
	OK(info(watch).memory_all + 5 * MB > before.memory_limit);
	EQ(take(fds[1], 4 * MB), EDQUOT);
	EQ(take(fds[2], 4 * MB), EDQUOT);
	close(fds[0]);
	EQ(take(fds[1], 4 * MB), 0);
	close(fds[1]), close(fds[2]);
	EQ(info(watch).memory_all, before.memory_all);
	OK(write_file(PERCENT, "25"));
	close(watch);
}

/* Memory that is mapped counts until it is not. */
static void freed_and_mapped(void)
{
	int watch = session(), fd;
	void *mapped[1000];
	unsigned nr = 0;
	struct kpl_info before;

	OK(write_file(PERCENT, "4"));
	before = info(watch);
	fd = session();
	while (nr < 1000) {
		struct kpl_map_create create = { .kind = KPL_MAP_COUNT, .key_size = 8, .max_entries = 10000 };
		struct kpl_free map = { .kind = KPL_FREE_MAP };

		if (ioctl(fd, KPL_IOC_MAP_CREATE, &create))
			break;
		mapped[nr] = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, create.mmap_off);
		if (mapped[nr++] == MAP_FAILED)
			break;
		map.id = create.id;
		EQ(ioctl(fd, KPL_IOC_FREE, &map), 0);
		OK(info(watch).memory_all > before.memory_all + nr * 10000ull * 8);
	}
	EQ(errno, EDQUOT);
	OK(nr > 1);
	OK(info(watch).memory_all <= before.memory_limit);
	close(fd);
	OK(info(watch).memory_all > before.memory_all + nr * 10000ull * 8);
	while (nr--)
		munmap(mapped[nr], 4096);
	EQ(info(watch).memory_all, before.memory_all);
	OK(write_file(PERCENT, "25"));
	close(watch);
}

/* Instances of a kretprobe go with the last call, or each with its own: they count until they do. */
static void calls_under_way(void)
{
	int watch = session(), fd = session(), together = symbol("objpool_drop") != 0;
	struct kpl_prog_load ret = { .kind = KPL_PROG_RET, .data_size = 4096 };
	int prog = load_with(fd, &ret, PROG(RETURN(0)));
	struct kpl_attach a = probe_at("__x64_sys_pause", KPL_PROBE_KRETPROBE, KPL_NO_PROG, prog);
	uint64_t before, held;
	pid_t child;

	a.maxactive = 512;
	before = info(watch).memory_all;
	a.id = attach_one(fd, a);
	held = info(watch).memory_all - before;
	OK(held > 2 * MB);
	fflush(stdout);
	child = fork();
	if (!child) {
		close(fd);
		pause();
		_exit(1);
	}
	WAIT(stats(fd, a.id).outstanding == 1);
	close(fd);
	before -= 65536;	/* the session itself */
	OK(!together || info(watch).memory_all > before + 2 * MB);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	WAIT(info(watch).memory_all < before + MB);
	close(watch);
}

static pid_t bystander(size_t bytes)
{
	pid_t child;
	char *memory;

	fflush(stdout);
	child = fork();
	if (child)
		return child;
	write_file("/proc/self/oom_score_adj", "1000");
	memory = malloc(bytes);
	memset(memory, 1, bytes);
	pause();
	_exit(0);
}

/* Even three sessions that may have all of it leave something, and nobody is killed. */
static void the_machine_lives(void)
{
	long long killed = number_in("/proc/vmstat", "oom_kill");
	pid_t child = bystander(16 * MB);
	int fds[3], i;

	OK(killed >= 0);
	OK(write_file(PERCENT, "100"));
	for (i = 0; i < 3; i++)
		fds[i] = session();
	for (i = 0; i < 3; i++)
		EQ(take_all(fds[i], 64 * MB), ENOMEM);
	OK(number_in("/proc/meminfo", "MemAvailable:") > 16 * 1024);
	for (i = 0; i < 3; i++)
		close(fds[i]);
	OK(write_file(PERCENT, "25"));
	EQ(number_in("/proc/vmstat", "oom_kill"), killed);
	EQ(waitpid(child, NULL, WNOHANG), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* What each kind of allocation adds to the group's account. */
static void charged_by_group(int unused)
{
	struct kpl_map_create agg = { .kind = KPL_MAP_COUNT, .key_size = 8, .max_entries = 20000 };
	struct kpl_ring_setup ring = { .size = 2 * MB };
	int fd;
	long long held;

	(void)unused;
	OK(write_file(GROUP "/cgroup.procs", "0"));
	fd = session();
#define CHARGES(bytes, action)							\
	do {									\
		held = number_in(GROUP "/memory.current", "");			\
		action;								\
		OK(number_in(GROUP "/memory.current", "") - held >= (long long)(bytes) * 7 / 8);	\
	} while (0)
	CHARGES(4 * MB, EQ(take(fd, 4 * MB), 0));
	CHARGES(info(fd).nr_cpus * 2 * 20000 * 24, map_create(fd, &agg));
	CHARGES(info(fd).nr_cpus * 2 * MB, EQ(ioctl(fd, KPL_IOC_RING_SETUP, &ring), 0));
	EQ(take(fd, 64 * MB), ENOMEM);
	EQ(number_in(GROUP "/memory.events", "oom_kill "), 0);
	EQ(number_in(GROUP "/memory.events", "oom "), 0);
	OK(fd >= 0);
	close(fd);
}

static void groups_are_charged(void)
{
	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	EQ(mkdir(GROUP, 0755), 0);
	OK(write_file(GROUP "/memory.max", "33554432"));
	in_child(charged_by_group, -1);
	EQ(rmdir(GROUP), 0);
}

/* ------------------------------------------------------------------ no waits */

/* A call with a pointer to user memory that does not come for as long as the test likes. */
struct stuck {
	int fd;
	unsigned long request;
	void *arg;
	int error;
};

static void *stuck_call(void *arg)
{
	struct stuck *call = arg;

	call->error = ioctl(call->fd, call->request, call->arg) ? errno : 0;
	return NULL;
}

static int faults(char *page, size_t size)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)page, size }, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);	/* else poll() fails */

	OK(fd >= 0);
	EQ(ioctl(fd, UFFDIO_API, &api), 0);
	EQ(ioctl(fd, UFFDIO_REGISTER, &range), 0);
	return fd;
}

/* What must go on while a session is in the middle of something. */
static void others_go_on(int fd)
{
	int other = session();

	OK(info(other).memory > 0);
	close(other);
	EQ(map_simple(fd, KPL_MAP_COUNT, 0) < KPL_MAX_MAPS, 1);
	FAILS(EWOULDBLOCK, syscall(SYS_delete_module, "kprobe_lua", O_NONBLOCK));
}

/* Runs the call until it waits for its memory; then `meanwhile`; then the memory comes, as zeros. */
static int while_stuck(struct stuck *call, char *page, void (*meanwhile)(int fd))
{
	int uffd = faults(page, 4096);
	struct pollfd fault = { .fd = uffd, .events = POLLIN };
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, 4096 } };
	pthread_t thread;

	pthread_create(&thread, NULL, stuck_call, call);
	EQ(poll(&fault, 1, 10000), 1);
	EQ(fault.revents, POLLIN);
	meanwhile(call->fd);
	EQ(ioctl(uffd, UFFDIO_ZEROPAGE, &zero), 0);
	pthread_join(thread, NULL);
	close(uffd);
	return call->error;
}

static char *missing_page(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Without this a waiting call would let the test hang. */
static void at_most(unsigned seconds)
{
	alarm(seconds);
}

static void copies_hold_no_lock(void)
{
	int fd = session(), i;
	unsigned prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	unsigned map = map_create(fd, &(struct kpl_map_create){ .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 8 });
	unsigned probe = attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	char *page[8];
	uint64_t at[8];

	OK(probe == 0 && map == 0);
	for (i = 0; i < 8; i++)
		page[i] = missing_page(), at[i] = (uintptr_t)page[i];
	struct kpl_prog_load load = { .insns = at[1], .nr_insns = 2 };
	struct kpl_attach_batch attach = { .probes = at[2], .nr = 1 };
	struct kpl_control control = { .ids = at[3], .nr = 1, .op = KPL_CTL_DISABLE };
	struct kpl_stats stats = { .stats = at[4], .nr = 1 };
	struct kpl_map_op op = { .id = map, .op = KPL_MAP_GET, .key = at[5] };
	struct kpl_prog_run run = { .id = prog, .regs = at[6], .regs_size = 8 };
	struct kpl_prog_native native = { .id = prog, .size = 16, .code = at[7] };
	const struct {
		unsigned long request;
		void *arg;
		int error;
	} rows[] = {	/* what comes of zeros */
		{ KPL_IOC_RING_SETUP, page[0], EINVAL },
		{ KPL_IOC_PROG_LOAD, &load, EACCES },
		{ KPL_IOC_ATTACH, &attach, EINVAL },
		{ KPL_IOC_CONTROL, &control, 0 },
		{ KPL_IOC_STATS, &stats, 0 },
		{ KPL_IOC_MAP_OP, &op, ENOENT },
		{ KPL_IOC_PROG_RUN, &run, 0 },
		{ KPL_IOC_PROG_NATIVE, &native, 0 },
	};

	at_most(60);
	for (i = 0; i < 8; i++) {
		struct stuck call = { .fd = fd, .request = rows[i].request, .arg = rows[i].arg };
		int before = checks_failed, error = while_stuck(&call, page[i], others_go_on);

		if (rows[i].request == KPL_IOC_ATTACH)
			EQ(error == EINVAL || error == ECANCELED, 1);
		else
			EQ(error, rows[i].error);
		if (checks_failed != before)
			printf("  in row %d\n", i);
		munmap(page[i], 4096);
	}
	close(fd);
	at_most(0);
	EQ(kprobes_listed(), 0);
}

static void close_it(int fd)
{
	close(fd);
	EQ(kprobes_listed(), 0);
}

static pid_t armer;

/* Another process arms a clock, and waits for what perf holds; modules come and go. */
static void modules_go_on(int event)
{
	OK(event >= 0);
	fflush(stdout);
	armer = fork();
	if (!armer) {
		int own = session(), prog = load(own, KPL_PROG_PRE, PROG(RETURN(0)));

		attach_one(own, (struct kpl_attach) {
			.kind = KPL_PROBE_EVENT, .event = KPL_EVENT_PROFILE, .period = 10,
			.prog = { prog, KPL_NO_PROG, KPL_NO_PROG },
		});
		_exit(checks_failed > 0);
	}
	WAIT(held_up(armer));
	EQ(waitpid(armer, NULL, WNOHANG), 0);
	load_module("KPL_TARGET", "");
	EQ(syscall(SYS_delete_module, "kpl_target", O_NONBLOCK), 0);
	EQ(waitpid(armer, NULL, WNOHANG), 0);
}

/* perf reads its user's memory with a lock that clocks need, too. */
static void perf_may_be_stuck(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000000,
	};
	char *page = missing_page();
	struct stuck call = { syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0), PERF_EVENT_IOC_PERIOD, page, 0 };
	int status = -1;

	at_most(60);
	EQ(while_stuck(&call, page, modules_go_on), EINVAL);
	EQ(waitpid(armer, &status, 0), armer);
	EQ(status, 0);
	close(call.fd);
	at_most(0);
	munmap(page, 4096);
}

/* The end does not wait for a call that waits for user space. */
static void close_while_stuck(void)
{
	int fd = session();
	unsigned prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	char *page = missing_page();
	struct kpl_control control = { .ids = (uintptr_t)page, .nr = 1, .op = KPL_CTL_DISABLE };
	struct stuck call = { .fd = fd, .request = KPL_IOC_CONTROL, .arg = &control };

	attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	at_most(30);
	EQ(while_stuck(&call, page, close_it), ESHUTDOWN);
	at_most(0);
	munmap(page, 4096);
}

#define MANY	6000	/* probes: takes longer than what is done meanwhile */

static void still_attaching(int fd)
{
	struct kpl_info now = info(fd);

	EQ(now.work_total, 2 * MANY);
	OK(now.work_done < now.work_total);
}

/* Another process opens, a module is unloaded, the session is closed: all in the middle of an attach call. */
static void during_a_long_attach(void)
{
	struct kpl_attach *list = malloc(MANY * sizeof(*list));
	struct kpl_attach_batch batch = { .probes = (uintptr_t)list, .nr = MANY };
	int fd = session(), kept = dup(fd), i;
	unsigned prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct stuck call = { .fd = fd, .request = KPL_IOC_ATTACH, .arg = &batch };
	pthread_t thread;

	list[0] = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	for (i = 1; i < MANY; i++)
		list[i] = list[0];
	at_most(60);
	pthread_create(&thread, NULL, stuck_call, &call);
	while (info(fd).work_done < 5)
		usleep(1000);
	close(session());
	still_attaching(fd);
	FAILS(EWOULDBLOCK, syscall(SYS_delete_module, "kprobe_lua", O_NONBLOCK));
	OK(!syscall(SYS_delete_module, "kpl_target", O_NONBLOCK) || errno == ENOENT);
	still_attaching(fd);
	close(fd);
	pthread_join(thread, NULL);
	EQ(call.error, ESHUTDOWN);
	EQ(kprobes_listed(), 0);
	still_attaching(kept);
	close(kept);
	at_most(0);
	free(list);
}

/* --------------------------------------------------------------- the opener */

static int shared_fd;

static int idle(void *out)
{
	struct kpl_ring_setup ring = { .size = 4096 };
	pid_t self = getpid();

	/* The address space is the opener's, the session is not this process's. */
	if (ioctl(shared_fd, KPL_IOC_RING_SETUP, &ring) == 0 || errno != EXDEV)
		_exit(1);
	write(*(int *)out, &self, sizeof(self));
	pause();
	return 0;
}

/* Opens, lets a child share all it has, and waits. */
static void opener(int out)
{
	char *stack = malloc(65536);
	unsigned prog;

	shared_fd = session();
	prog = load(shared_fd, KPL_PROG_PRE, PROG(RETURN(0)));
	attach_one(shared_fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	clone(idle, stack + 65536, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, &out);
	pause();
}

/* A child that keeps the opener's address space and files does not keep its session. */
static void shared_memory_keeps_nothing(void)
{
	int ready[2], tries = 0;
	pid_t process, child = 0;

	EQ(pipe(ready), 0);
	fflush(stdout);
	process = fork();
	if (!process)
		opener(ready[1]);
	close(ready[1]);
	EQ(read(ready[0], &child, sizeof(child)), sizeof(child));
	EQ(kprobes_listed(), 1);
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
	while (kprobes_listed() && tries++ < 200)
		usleep(20 * 1000);
	EQ(kprobes_listed(), 0);
	EQ(kill(child, 0), 0);
	kill(child, SIGKILL);
	while (!kill(child, 0) && tries++ < 400)
		usleep(20 * 1000);
	close(ready[0]);
}

static int close_shared(void *out)
{
	close(shared_fd);
	write(*(int *)out, "c", 1);
	pause();
	return 0;
}

/* The opener lives, and a child that shares its table of descriptors closes the session's: it is the last, and nobody's call. */
static void closed_by_another(void)
{
	char *stack = malloc(65536), c;
	pid_t child;
	int ready[2];

	EQ(pipe(ready), 0);
	shared_fd = session();
	attach_one(shared_fd, probe_at(CALLED, KPL_PROBE_KPROBE, load(shared_fd, KPL_PROG_PRE, PROG(RETURN(0))), KPL_NO_PROG));
	EQ(kprobes_listed(), 1);
	child = clone(close_shared, stack + 65536, CLONE_FILES | SIGCHLD, &ready[1]);
	EQ(read(ready[0], &c, 1), 1);
	WAIT(kprobes_listed() == 0);
	FAILS(EBADF, close(shared_fd));
	kill(child, SIGKILL);
	EQ(waitpid(child, NULL, 0), child);
	close(ready[0]), close(ready[1]);
	free(stack);
}

/* --------------------------------------------------------------------- lockdown */

/* Of processes that have a session when it is locked down. */
#define OF_OTHERS	"open ring works wait info begins=EPERM closed=EPERM"

struct others {
	pid_t pids[CALL_WAYS];
	int go_on;	/* written to, for all */
};

static void begin_others(struct others *o)
{
	int in = dup(0), out = dup(1), go_on[2], begun[2], i;
	char byte;

	EQ(pipe(go_on), 0);
	o->go_on = go_on[1];
	fflush(stdout);
	for (i = 0; i < CALL_WAYS; i++) {
		EQ(pipe(begun), 0);
		dup2(go_on[0], 0);
		dup2(begun[1], 1);
		o->pids[i] = by_way(i, -1, OF_OTHERS);
		dup2(in, 0);
		dup2(out, 1);
		close(begun[1]); /* one that fails does not write */
		OK(!o->pids[i] || read(begun[0], &byte, 1) == 1);
		close(begun[0]);
	}
	close(in);
	close(out);
	close(go_on[0]);
}

static void end_others(struct others *o)
{
	int i;

	EQ(write(o->go_on, "go on", CALL_WAYS), CALL_WAYS);
	for (i = 0; i < CALL_WAYS; i++)
		way_ended(i, o->pids[i], OF_OTHERS);
	close(o->go_on);
}

/*
 * What was begun before the kernel was locked down may be looked at and ended,
 * and nothing more is begun.  There is no way back: for a machine that ends.
 */
int locked_down(void)
{
	int fd = session();
	unsigned prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	unsigned map = map_create(fd, &(struct kpl_map_create){ .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 8 });
	struct kpl_attach again = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);
	unsigned probe = attach_one(fd, again);
	struct kpl_prog_load load = { .kind = KPL_PROG_PRE };
	struct kpl_site site;
	struct kpl_prog_sites sites = { .id = prog, .nr = 1, .sites = (uintptr_t)&site };
	uint64_t key = 1, value = 2;
	struct kpl_map_op get = { .id = map, .op = KPL_MAP_GET, .key = (uintptr_t)&key, .value = (uintptr_t)&value };
	struct others others;

	call(3);
	begin_others(&others);
	OK(write_file("/sys/kernel/security/lockdown", "confidentiality"));
	end_others(&others);
	call(3);
	EQ(stats(fd, probe).entry.handled, 6);
	FAILS(ENOENT, ioctl(fd, KPL_IOC_MAP_OP, &get));
	EQ(ioctl(fd, KPL_IOC_PROG_SITES, &sites), 0);
	EQ(control(fd, KPL_CTL_DISABLE, probe), 0);
	FAILS(EPERM, control(fd, KPL_CTL_ENABLE, probe));
	FAILS(EPERM, attach(fd, &again, 1));
	FAILS(EPERM, load_with(fd, &load, PROG(RETURN(0))));
	FAILS(EPERM, open(KPL_DEVICE, O_RDWR));
	calls_fail(fd, EPERM, 0);
	get.op = KPL_MAP_SET;
	EQ(ioctl(fd, KPL_IOC_MAP_OP, &get), 0);
	get.op = KPL_MAP_GET;
	EQ(ioctl(fd, KPL_IOC_MAP_OP, &get), 0);
	EQ(control(fd, KPL_CTL_DETACH, probe), 0);
	EQ(stats(fd, probe).state, KPL_STATE_DETACHED);
	EQ(ioctl(fd, KPL_IOC_FREE, &(struct kpl_free){ KPL_FREE_PROG, prog }), 0);
	EQ(ioctl(fd, KPL_IOC_FREE, &(struct kpl_free){ KPL_FREE_MAP, map }), 0);
	EQ(close(fd), 0);
	return checks_failed > 0;
}

const struct test together_tests[] = {
	{ "all sessions share", all_sessions_share },
	{ "freed and mapped", freed_and_mapped },
	{ "calls under way", calls_under_way },
	{ "the machine lives", the_machine_lives },
	{ "groups are charged", groups_are_charged },
	{ "copies hold no lock", copies_hold_no_lock },
	{ "perf may be stuck", perf_may_be_stuck },
	{ "close while stuck", close_while_stuck },
	{ "during a long attach", during_a_long_attach },
	{ "shared memory keeps nothing", shared_memory_keeps_nothing },
	{ "closed by another", closed_by_another },
	{ NULL, NULL },
};
