/* SPDX-License-Identifier: MIT */
/* Tracepoints, clocks, counters, watchpoints and probes in files by raw ioctls: exact counts, and what the module takes from nobody. */
#define _GNU_SOURCE
#include "kit.h"

#include <alloca.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRY	"__bpf_trace_tp_map_signal_generate"

static struct kpl_attach tracepoint_at(uint64_t addr, int prog)
{
	return (struct kpl_attach) {
		.addr = addr, .kind = KPL_PROBE_TRACEPOINT,
		.prog = { prog, KPL_NO_PROG, KPL_NO_PROG },
		.when = { .mask = KPL_WHEN_PID, .pid = getpid() },
	};
}

/* A program that reads `words` of what it is passed. */
static int reader(int fd, unsigned words)
{
	struct kpl_prog_load l = { .kind = KPL_PROG_TRACEPOINT, .data_size = 8 * words };

	return load_with(fd, &l, PROG(LD(2, 1, HIT(data)), LD(3, 2, 8 * (words - 1)), RETURN(0)));
}

static void signals(unsigned n)
{
	signal(SIGUSR1, SIG_IGN);
	while (n--)
		raise(SIGUSR1);
}

/* Each value is the tracepoint's: two probes at one, a map by the first. */
static void counted(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_SUM };
	unsigned id = map_create(fd, &map);
	struct kpl_prog_load l = { .kind = KPL_PROG_TRACEPOINT, .data_size = 8 };
	int prog = load_with(fd, &l, PROG(MOV(6, 1), LD(2, 1, HIT(data)), LD(4, 2, 0), MAP(2, id), MOVI(3, 0), CALL(agg_add),
					  RETURN(0)));
	struct kpl_attach two[2] = { tracepoint_at(symbol(ENTRY), prog), tracepoint_at(symbol(ENTRY), reader(fd, 5)) };

	EQ(attach(fd, two, 2), 0);
	EQ(stats(fd, two[0].id).state, KPL_STATE_ARMED);
	signals(300);
	EQ(stats(fd, two[0].id).entry.handled, 300);
	EQ(stats(fd, two[1].id).entry.handled, 300);
	EQ(agg_total(fd, &map, 0), 300 * SIGUSR1);
	EQ(control(fd, KPL_CTL_DISABLE, two[0].id), 0);
	signals(10);
	EQ(stats(fd, two[0].id).entry.hits - stats(fd, two[0].id).entry.skipped, 300);
	EQ(stats(fd, two[1].id).entry.handled, 310);
	EQ(control(fd, KPL_CTL_ENABLE, two[0].id), 0);
	signals(5);
	EQ(stats(fd, two[0].id).entry.handled, 305);
	EQ(control(fd, KPL_CTL_DETACH, two[0].id), 0);
	EQ(stats(fd, two[0].id).state, KPL_STATE_DETACHED);
	close(fd);
}

/* What no tracepoint is, and more than one passes. */
static void not_a_tracepoint(void)
{
	int fd = session(), prog = reader(fd, 1);

	EQ(attach_error(fd, tracepoint_at(symbol(ENTRY), reader(fd, 6))), EINVAL);
	EQ(attach_error(fd, tracepoint_at(symbol(ENTRY) + 8, prog)), ENOENT);
	EQ(attach_error(fd, tracepoint_at(symbol("jiffies_64"), prog)), ENOENT);
	EQ(attach_error(fd, tracepoint_at(symbol("vfs_read"), prog)), ENOENT);
	EQ(attach_error(fd, tracepoint_at(0, prog)), ENOENT);
	EQ(attach_error(fd, tracepoint_at((uintptr_t)&fd, prog)), ENOENT);
	EQ(attach_error(fd, tracepoint_at(0xdead000000000100, prog)), ENOENT);
	EQ(attach_error(fd, tracepoint_at(symbol(ENTRY), load(fd, KPL_PROG_PRE, PROG(RETURN(0))))), EINVAL);
	close(fd);
}

static struct kpl_attach event_of(int prog, unsigned event, uint64_t period, uint64_t addr)
{
	return (struct kpl_attach) {
		.addr = addr, .kind = KPL_PROBE_EVENT, .event = event, .period = period,
		.prog = { prog, KPL_NO_PROG, KPL_NO_PROG },
	};
}

static void clocks_and_counters(void)
{
	int fd = session(), prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach faults = event_of(prog, KPL_EVENT_SOFTWARE, 1, PERF_COUNT_SW_PAGE_FAULTS);
	unsigned id;
	char *pages;
	int i;

	faults.when.mask = KPL_WHEN_PID;
	faults.when.pid = getpid();
	EQ(attach(fd, &faults, 1), 0);
	pages = aligned_alloc(4096, 100 * 4096);
	for (i = 0; i < 100; i++)
		((volatile char *)pages)[4096 * i] = 1;
	OK(stats(fd, faults.id).entry.handled >= 100);
	adds_up(&(struct kpl_probe_stats[]){ stats(fd, faults.id) }[0]);
	free(pages);
	id = attach_one(fd, event_of(prog, KPL_EVENT_PROFILE, 1000, 0));
	WAIT(stats(fd, id).entry.handled > 20);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_PROFILE, 0, 0)), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_PROFILE, KPL_MAX_HZ + 1, 0)), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_INTERVAL, KPL_MIN_INTERVAL - 1, 0)), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_SOFTWARE, 1, PERF_COUNT_SW_MAX)), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_SOFTWARE, KPL_MIN_INTERVAL - 1, PERF_COUNT_SW_CPU_CLOCK)), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_SOFTWARE, KPL_MIN_INTERVAL - 1, PERF_COUNT_SW_TASK_CLOCK)), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENT_WRITE, 0, symbol("jiffies_64"))), EINVAL);
	EQ(attach_error(fd, event_of(prog, KPL_EVENTS, 1, 0)), EINVAL);
	EQ(attach_error(fd, event_of(prog, ~0u, 1, 0)), EINVAL);
	close(fd);
}

/* Clocks of all sessions share a CPU's ticks, whatever they are declared as. */
static void ticks_are_few(void)
{
	int fd = session(), other = session(), prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	int others = load(other, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach list[KPL_MAX_TICKS / KPL_MAX_HZ];
	unsigned i, most = sizeof(list) / sizeof(list[0]);

	for (i = 0; i < most; i++) {
		list[i] = i % 2 ? event_of(prog, KPL_EVENT_PROFILE, KPL_MAX_HZ, 0) :
				  event_of(prog, KPL_EVENT_INTERVAL, KPL_MIN_INTERVAL, 0);
		list[i].flags = KPL_ATTACH_F_DISABLED;
	}
	EQ(attach(fd, list, most), 0);
	EQ(attach_error(other, event_of(others, KPL_EVENT_PROFILE, 1, 0)), E2BIG);
	EQ(attach_error(other, event_of(others, KPL_EVENT_SOFTWARE, KPL_MIN_INTERVAL, PERF_COUNT_SW_CPU_CLOCK)), E2BIG);
	attach_one(other, event_of(others, KPL_EVENT_SOFTWARE, 1, PERF_COUNT_SW_PAGE_FAULTS));
	EQ(control(fd, KPL_CTL_DETACH, list[0].id), 0);
	attach_one(other, event_of(others, KPL_EVENT_PROFILE, 1, 0));
	close(other);
	close(fd);
}

static struct kpl_attach watch_at(int prog, uint64_t addr, unsigned len, unsigned event)
{
	return (struct kpl_attach) {
		.addr = addr, .kind = KPL_PROBE_WATCH, .event = event, .len = len,
		.prog = { prog, KPL_NO_PROG, KPL_NO_PROG },
	};
}

static void watched(void)
{
	int fd = session(), prog = load(fd, KPL_PROG_WATCH, PROG(RETURN(0))), i;
	struct kpl_prog_load l = { .kind = KPL_PROG_WATCH, .data_size = 24 };
	uint64_t jiffies = symbol("jiffies_64");
	unsigned id;

	id = attach_one(fd, watch_at(prog, jiffies, 8, KPL_EVENT_WRITE));
	WAIT(stats(fd, id).entry.handled > 5);
	EQ(control(fd, KPL_CTL_DETACH, id), 0);
	for (i = 3; i < 9; i++)
		if (i != 4 && i != 8)
			EQ(attach_error(fd, watch_at(prog, jiffies, i, KPL_EVENT_WRITE)), EINVAL);
	EQ(attach_error(fd, watch_at(prog, jiffies, 0, KPL_EVENT_WRITE)), EINVAL);
	EQ(attach_error(fd, watch_at(prog, jiffies + 4, 8, KPL_EVENT_WRITE)), EINVAL);
	EQ(attach_error(fd, watch_at(prog, jiffies, 8, KPL_EVENT_PROFILE)), EINVAL);
	EQ(attach_error(fd, watch_at(load_with(fd, &l, PROG(RETURN(0))), jiffies, 8, KPL_EVENT_WRITE)), EINVAL);
	EQ(attach_error(fd, watch_at(prog, (uintptr_t)&jiffies, 8, KPL_EVENT_WRITE)), EFAULT);
	EQ(attach_error(fd, watch_at(prog, 0, 8, KPL_EVENT_WRITE)), EFAULT);
	EQ(attach_error(fd, watch_at(prog, 0x8000000000000000, 8, KPL_EVENT_WRITE)), EFAULT);
	EQ(attach_error(fd, watch_at(prog, -8ull, 8, KPL_EVENT_WRITE)), EFAULT);
	close(fd);
}

/* The process watches a variable of its own; < 0: -errno. */
static int watch_own(void)
{
	static volatile uint64_t own;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .bp_type = HW_BREAKPOINT_W, .bp_addr = (uintptr_t)&own, .bp_len = 8,
		.exclude_kernel = 1,
	};
	int event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	return event < 0 ? -errno : event;
}

/* The processor has four: what others are refused since all are ours is counted, what we are is not. */
static void watched_by_others(void)
{
	int fd = session(), prog = load(fd, KPL_PROG_WATCH, PROG(RETURN(0))), i, event;
	uint64_t jiffies = symbol("jiffies_64"), before = info(fd).refused;
	unsigned id = 0;

	for (i = 0; i < 4; i++)
		id = attach_one(fd, watch_at(prog, jiffies, 8, KPL_EVENT_WRITE));
	EQ(attach_error(fd, watch_at(prog, jiffies, 8, KPL_EVENT_WRITE)), ENOSPC);
	EQ(info(fd).refused, before);
	EQ(watch_own(), -ENOSPC);
	EQ(info(fd).refused, before + 1);
	EQ(control(fd, KPL_CTL_DETACH, id), 0);
	event = watch_own();
	OK(event >= 0);
	close(event);
	EQ(info(fd).refused, before + 1);
	close(fd);
}

static struct kpl_attach uprobe_in(int prog, int file, uint64_t addr)
{
	return (struct kpl_attach) {
		.addr = addr, .kind = KPL_PROBE_UPROBE, .fd = file, .prog = { prog, KPL_NO_PROG, KPL_NO_PROG },
	};
}

static volatile int passed;

static __attribute__((noinline, noclone)) void come_by(void)
{
	passed++;
}

static void in_files(void)
{
	extern char __executable_start;
	uint64_t here = (uintptr_t)come_by - (uintptr_t)&__executable_start;
	int fd = session(), prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	int entry = load(fd, KPL_PROG_ENTRY, PROG(RETURN(0))), i;
	int self = open("/proc/self/exe", O_RDONLY), dir = open("/", O_RDONLY), path = open("/proc/self/exe", O_PATH);
	struct kpl_attach call = uprobe_in(entry, self, here);
	unsigned id, call_id;

	id = attach_one(fd, uprobe_in(prog, self, here));
	EQ(attach_error(fd, uprobe_in(prog, 1000, here)), EBADF);
	EQ(attach_error(fd, uprobe_in(prog, path, here)), EBADF);
	EQ(attach_error(fd, uprobe_in(prog, open("written", O_WRONLY | O_CREAT, 0700), 0)), EACCES);
	EQ(attach_error(fd, uprobe_in(prog, dir, here)), EIO);
	EQ(attach_error(fd, uprobe_in(prog, open("/proc/version", O_RDONLY), 0)), EIO);
	EQ(attach_error(fd, uprobe_in(prog, self, 1ull << 40)), EINVAL);
	EQ(attach_error(fd, uprobe_in(prog, self, -8ull)), EINVAL);
	EQ(attach_error(fd, uprobe_in(entry, self, here)), EINVAL);
	call.maxactive = 1;
	EQ(attach_error(fd, call), EINVAL);
	call.kind = KPL_PROBE_URETPROBE;
	call.maxactive = KPL_MAX_ACTIVE + 1;
	EQ(attach_error(fd, call), E2BIG);
	call.maxactive = 1;
	call.prog[1] = load(fd, KPL_PROG_RET, PROG(RETURN(0)));
	call_id = attach_one(fd, call);
	/* The files may be closed. */
	close(self);
	for (i = 0; i < 3; i++)
		come_by();
	EQ(stats(fd, id).entry.handled, 3);
	EQ(stats(fd, call_id).entry.handled, 3);
	EQ(stats(fd, call_id).ret.handled, 3);
	EQ(stats(fd, call_id).outstanding, 0);
	EQ(control(fd, KPL_CTL_DISABLE, id), 0);
	come_by();
	EQ(control(fd, KPL_CTL_ENABLE, id), 0);
	come_by();
	EQ(stats(fd, id).entry.handled, 4);
	EQ(stats(fd, call_id).ret.handled, 5);
	close(dir);
	close(path);
	close(fd);
	come_by();
}

/* A server of FUSE whose one file can be opened; it answers nothing else. */
static void *serve(void *device)
{
	const int fd = *(int *)device;
	static char request[1 << 17];

	while (read(fd, request, sizeof(request)) > 0) {
		const struct fuse_in_header *in = (void *)request;
		struct {
			struct fuse_out_header head;
			union {
				struct fuse_init_out init;
				struct fuse_open_out open;
			};
		} out = { .head.unique = in->unique };

		if (in->opcode == FUSE_INIT) {
			out.init = (struct fuse_init_out){ .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
							   .max_write = 4096 };
			out.head.len = sizeof(out.head) + sizeof(out.init);
		} else if (in->opcode == FUSE_OPEN) {
			out.head.len = sizeof(out.head) + sizeof(out.open);
		} else {
			continue;
		}
		(void)!write(fd, &out, out.head.len);
	}
	return NULL;
}

/* Its code would be read while no process can fork. */
static void in_fuse(void)
{
	const char *place = "/tmp/abi-fuse", *device = "/tmp/abi-fuse-device";
	char options[80];
	int server, file, fd;
	pthread_t thread;

	mknod(device, S_IFCHR | 0600, makedev(10, 229));
	server = open(device, O_RDWR);
	unlink(device);
	if (server < 0) {
		printf("%s: this kernel has no FUSE\n", test_name);
		return;
	}
	close(open(place, O_CREAT | O_WRONLY, 0755));
	sprintf(options, "fd=%d,rootmode=100755,user_id=0,group_id=0", server);
	EQ(mount("abi", place, "fuse", 0, options), 0);
	OK(pthread_create(&thread, NULL, serve, &server) == 0);
	file = open(place, O_RDONLY);
	OK(file >= 0);
	fd = session();
	EQ(attach_error(fd, uprobe_in(load(fd, KPL_PROG_PRE, PROG(RETURN(0))), file, 0)), EIO);
	close(fd);
	umount2(place, MNT_FORCE | MNT_DETACH);
	close(file);
	pthread_join(thread, NULL);
	close(server);
	unlink(place);
}

static jmp_buf outside;

static __attribute__((noinline, noclone)) void leave(void)
{
	passed++;
	longjmp(outside, 1);
}

static __attribute__((noinline, noclone)) void leave_from(unsigned depth)
{
	volatile char *room = alloca(64 * depth + 64);

	room[0] = 1;
	leave();
}

/* Each lies deeper than those before: no later call of the function shows that they have been left, but the kernel knows. */
static void left_by_jumps(void)
{
	extern char __executable_start;
	int fd = session(), self = open("/proc/self/exe", O_RDONLY);
	int entry = load(fd, KPL_PROG_ENTRY, PROG(RETURN(0))), ret = load(fd, KPL_PROG_RET, PROG(RETURN(0)));
	struct kpl_attach left = uprobe_in(entry, self, (uintptr_t)leave - (uintptr_t)&__executable_start);
	struct kpl_attach other = uprobe_in(entry, self, (uintptr_t)come_by - (uintptr_t)&__executable_start);
	static unsigned i;

	left.kind = other.kind = KPL_PROBE_URETPROBE;
	left.prog[1] = other.prog[1] = ret;
	attach_one(fd, left), attach_one(fd, other);
	for (i = 0; i < 200; i++) {
		if (!setjmp(outside))
			leave_from(i);
		come_by();
	}
	EQ(stats(fd, 0).entry.handled, 200);
	OK(stats(fd, 0).outstanding <= 64);
	EQ(stats(fd, 1).ret.handled, 200);
	close(self);
	close(fd);
}

/* How a hit ends whose handler reads a page that nobody has touched. */
static struct kpl_counts come_by_reading(int fd, const void *page)
{
	extern char __executable_start;
	int self = open("/proc/self/exe", O_RDONLY);
	int prog = load(fd, KPL_PROG_PRE, PROG(MOV(6, 1), IMM64(2, (uintptr_t)page), MOVI(3, 8), CALL(uread),
					       LDW(0, 6, HIT(status)), JEQI(0, 0, 2),
					       MOVI(0, KPL_RET_STOP(KPL_STOP_USER_READ, 4)), EXIT, RETURN(0)));
	unsigned id = attach_one(fd, uprobe_in(prog, self, (uintptr_t)come_by - (uintptr_t)&__executable_start));

	close(self);
	come_by();
	EQ(control(fd, KPL_CTL_DETACH, id), 0);
	return stats(fd, id).entry;
}

/* What the process has is brought in; what a driver would have to provide is not waited for. */
static void pages_that_lack(void)
{
	int fd = session();
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	void *own = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *drivers;

	map_create(fd, &map);
	drivers = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, map.mmap_off);
	OK(own != MAP_FAILED && shared != MAP_FAILED && drivers != MAP_FAILED);
	EQ(come_by_reading(fd, own).handled, 1);
	EQ(come_by_reading(fd, shared).handled, 1);
	EQ(come_by_reading(fd, drivers).faults, 1);
	munmap(own, 4096);
	munmap(shared, 4096);
	munmap(drivers, 4096);
	close(fd);
}

/* More than a queue of the kernel's runs workers at once; each has several probes to take out. */
#define MANY	(debians_kernel() ? 900 : 100) /* others may look for faults, and take ten times as long */
#define PROBES_OF_MANY	4

/* Tells when it is armed, and is killed. */
static void one_of_many(int file, int armed)
{
	int fd = session(), prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach list[PROBES_OF_MANY];
	unsigned i;

	for (i = 0; i < PROBES_OF_MANY; i++)
		list[i] = uprobe_in(prog, file, 64 * i);
	if (attach(fd, list, PROBES_OF_MANY) || write(armed, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void many_end_at_once(void)
{
	char path[] = "/tmp/uprobesXXXXXX", byte;
	int file = mkstemp(path), armed[2], i, left = 0, many = MANY;
	pid_t group = 0, child;

	OK(file >= 0 && !ftruncate(file, 4096) && !pipe(armed));
	fflush(stdout);
	for (i = 0; i < many; i++) {
		child = fork();
		if (!child)
			one_of_many(file, armed[1]);
		group = group ?: child;
		setpgid(child, group);
		left += child > 0;
	}
	EQ(left, many);
	for (i = 0; i < left && read(armed[0], &byte, 1) == 1; i++)
		continue;
	kill(-group, SIGKILL);
	WAIT((left -= waitpid(-group, NULL, WNOHANG) > 0) == 0);
	close(armed[0]);
	close(armed[1]);
	close(file);
	unlink(path);
}

/* What the fields of these mean nothing for. */
static void others_take_none(void)
{
	int fd = session(), prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_attach a = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);

	a.period = 1;
	EQ(attach_error(fd, a), EINVAL);
	a.period = 0;
	a.event = KPL_EVENT_PROFILE;
	EQ(attach_error(fd, a), EINVAL);
	a.event = 0;
	a.len = 8;
	EQ(attach_error(fd, a), EINVAL);
	a.len = 0;
	a.fd = 1;
	EQ(attach_error(fd, a), EINVAL);
	a.fd = 0;
	a.semaphore = 8;
	EQ(attach_error(fd, a), EINVAL);
	close(fd);
}

const struct test source_tests[] = {
	{ "tracepoints: values and counts", counted },
	{ "tracepoints: only what the kernel calls one", not_a_tracepoint },
	{ "clocks and counters", clocks_and_counters },
	{ "ticks are few", ticks_are_few },
	{ "watchpoints", watched },
	{ "watchpoints: others'", watched_by_others },
	{ "probes in files", in_files },
	{ "probes in a file of FUSE", in_fuse },
	{ "left by jumps", left_by_jumps },
	{ "pages that lack", pages_that_lack },
	{ "many end at once", many_end_at_once },
	{ "fields of other kinds", others_take_none },
	{}
};
