/* SPDX-License-Identifier: MIT */
/*
 * nth: on a kernel that refuses memory when it is asked to (CONFIG_FAULT_INJECTION), each call is made again and again, and
 * each time the next of its allocations is refused, until all have been.  It may fail or do without; afterwards the same
 * call works.  Prints how many allocations each call has met.  `nth NAME` tries those whose printed names begin so.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/abi/kit.h"

#define MANY	40 /* probes at once */

static int self;
static struct kpl_attach many[MANY];

/* What a call finds. */
static struct ground {
	int fd;
	unsigned map, counts;
	int prog[KPL_PROG_KINDS];
	struct kpl_ring_setup rings;
	unsigned ids[MANY];
} on;

__attribute__((noinline)) static int in_this_program(int n)
{
	__asm__ volatile("nop");
	return n + 1;
}

static int set_up(void)
{
	on.rings.size = 4096;
	return ioctl(on.fd, KPL_IOC_RING_SETUP, &on.rings);
}

static void prepare(void)
{
	struct kpl_map_create hash = { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 8, .max_entries = 100 };
	unsigned kind;

	on = (struct ground){ .fd = session() };
	EQ(set_up(), 0);
	on.map = map_create(on.fd, &hash);
	on.counts = map_simple(on.fd, KPL_MAP_COUNT, 8);
	for (kind = 0; kind < KPL_PROG_KINDS; kind++) {
		struct kpl_prog_load l = { .kind = kind, .data_size = kind == KPL_PROG_WATCH ? 16 : kind < KPL_PROG_ENTRY ? 0 : 8,
					   .scratch_size = 4096 };

		on.prog[kind] = load_with(on.fd, &l, PROG(MOV(7, 1), CALL(tid), ST(10, -8, 0), MOV(1, 7), MAP(2, on.counts),
							  MOV(3, 10), ADDI(3, -8), MOVI(4, 1), CALL(agg_add), RETURN(0)));
		OK(on.prog[kind] >= 0);
	}
}

/* -------------------------------------------------------------------- calls */

static int opens(void)
{
	int fd = open(KPL_DEVICE, O_RDWR);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : 0;
}

static int sets_up(void)
{
	int fd = open(KPL_DEVICE, O_RDWR), result, keep = on.fd;

	on.fd = fd;
	result = fd < 0 ? -1 : set_up();
	on.fd = keep;
	close(fd);
	return result;
}

static int spares(void)
{
	struct kpl_ring_spare spare = { .size = 16384 };

	return ioctl(on.fd, KPL_IOC_RING_SPARE, &spare);
}

static int makes_map(unsigned kind, unsigned key_size)
{
	struct kpl_map_create m = { .kind = kind, .key_size = key_size, .max_entries = 64 };

	if (kind == KPL_MAP_HASH)
		m.value_size = 8;
	if (kind == KPL_MAP_LHIST) {
		m.hi = 100;
		m.step = 10;
	}
	return ioctl(on.fd, KPL_IOC_MAP_CREATE, &m);
}
static int makes_hash(void) { return makes_map(KPL_MAP_HASH, 8); }
static int makes_counts(void) { return makes_map(KPL_MAP_COUNT, 8); }
static int makes_count(void) { return makes_map(KPL_MAP_COUNT, 0); }
static int makes_steps(void) { return makes_map(KPL_MAP_LHIST, 8); }

static int sets_key(void)
{
	uint64_t key = 1, value = 2;
	struct kpl_map_op op = { .id = on.map, .op = KPL_MAP_SET, .key = (uintptr_t)&key, .value = (uintptr_t)&value };

	return ioctl(on.fd, KPL_IOC_MAP_OP, &op);
}
static int clears(void)
{
	struct kpl_map_clear clear = { .id = on.counts };

	return ioctl(on.fd, KPL_IOC_MAP_CLEAR, &clear);
}
static int loads(void)
{
	struct kpl_prog_load l = { .kind = KPL_PROG_ENTRY, .data_size = 64, .scratch_size = 65536, .flags = KPL_PROG_F_PLACES };

	return load_with(on.fd, &l, PROG(MOV(7, 1), LD(6, 1, HIT(scratch)), MOV(1, 6), MOVI(2, 16), CALL(comm), RETURN(0))) < 0 ? -1 : 0;
}
static int runs(void)
{
	char data[8], regs[64];
	struct kpl_prog_run r = { .id = on.prog[KPL_PROG_RET], .data = (uintptr_t)data, .data_size = 8, .regs = (uintptr_t)regs,
				  .regs_size = sizeof(regs) };

	return ioctl(on.fd, KPL_IOC_PROG_RUN, &r);
}
static int titles(void)
{
	struct kpl_title title = { .name = "nth", .dead_man = 100 };

	return ioctl(on.fd, KPL_IOC_TITLE, &title);
}
static int maps_rings(void)
{
	void *at = mmap(NULL, 4096 + 2 * 4096, PROT_READ, MAP_SHARED, on.fd, on.rings.data_off);

	if (at == MAP_FAILED)
		return -1;
	(void)*(volatile char *)at;
	return munmap(at, 3 * 4096);
}

/* As symbol(), which takes memory itself, but the first time alone. */
static uint64_t address(const char *name)
{
	static struct {
		const char *name;
		uint64_t addr;
	} known[MANY];
	unsigned i;

	for (i = 0; i < MANY - 1 && known[i].name && strcmp(known[i].name, name); i++)
		;
	if (!known[i].name) {
		known[i].name = name;
		known[i].addr = symbol(name);
	}
	return known[i].addr;
}

static struct kpl_attach probe_of(unsigned kind, const char *function)
{
	struct kpl_attach a = {
		.addr = address(function), .func = address(function), .kind = kind,
		.prog = { on.prog[KPL_PROG_PRE], KPL_NO_PROG, KPL_NO_PROG },
	};

	if (kind == KPL_PROBE_KRETPROBE || kind == KPL_PROBE_DIRECT || kind == KPL_PROBE_URETPROBE) {
		a.prog[0] = on.prog[KPL_PROG_ENTRY];
		a.prog[1] = on.prog[KPL_PROG_RET];
	}
	if (kind == KPL_PROBE_KRETPROBE)
		a.maxactive = 20;
	if (kind == KPL_PROBE_TRACEPOINT) {
		a.addr = address("__bpf_trace_tp_map_signal_generate");
		a.prog[0] = on.prog[KPL_PROG_TRACEPOINT];
	}
	if (kind == KPL_PROBE_EVENT) {
		a.addr = 0;
		a.event = KPL_EVENT_PROFILE;
		a.period = 100;
	}
	if (kind == KPL_PROBE_WATCH) {
		a.addr = address("jiffies_64");
		a.event = KPL_EVENT_WRITE;
		a.len = 8;
		a.prog[0] = on.prog[KPL_PROG_WATCH];
	}
	if (kind == KPL_PROBE_UPROBE || kind == KPL_PROBE_URETPROBE) {
		a.addr = (uintptr_t)in_this_program & 0xfffff; /* not position independent: the first page is the file's */
		a.flags = KPL_ATTACH_F_ENTRY;
		a.fd = self;
	}
	return a;
}

/* Opened once: its opening takes memory. */
static int refused;

static void refuse(unsigned n)
{
	char text[16];
	int len = sprintf(text, "%u", n);

	if (pwrite(refused, text, len, 0) != len)
		exit((perror("fail-nth"), 1));
}

/* How many allocations are still to come to the one that is refused; 0: it has been. */
static int left(void)
{
	char text[16] = { 0 };

	if (pread(refused, text, sizeof(text) - 1, 0) <= 0)
		exit((perror("fail-nth"), 1));
	return atoi(text);
}

static unsigned kind_now;

/* What can't be detached is as before, and is detached at the second try. */
static int detaches(unsigned nr)
{
	struct kpl_control gone = { .ids = (uintptr_t)on.ids, .nr = nr, .op = KPL_CTL_DETACH };

	if (!ioctl(on.fd, KPL_IOC_CONTROL, &gone))
		return 0;
	EQ(errno, ENOMEM);
	EQ(ioctl(on.fd, KPL_IOC_CONTROL, &gone), 0);
	return -1;
}

/* Attaches, hits and detaches; a part that fails is optional in none. */
static int attaches_list(struct kpl_attach *list, unsigned nr)
{
	unsigned i;

	if (attach(on.fd, list, nr)) {
		for (i = 0; errno == ECANCELED && i < nr; i++)
			if (list[i].error && list[i].error != -ECANCELED)
				errno = -list[i].error;
		return -1;
	}
	in_this_program(1);
	call(2);
	for (i = 0; i < nr; i++)
		on.ids[i] = list[i].id;
	return detaches(nr);
}
static int attaches(void)
{
	struct kpl_attach a = probe_of(kind_now, CALLED);

	return attaches_list(&a, 1);
}
static int attaches_many(void)
{
	static const char *const functions[] = {
		"vfs_read", "vfs_write", "vfs_open", "vfs_statx", "do_sys_openat2", "ksys_read", "ksys_write", "kernel_clone", "do_exit",
		"wake_up_process",
	};
	unsigned i, nr = 0;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (address(functions[i]))
			many[nr++] = probe_of(kind_now, functions[i]);
	return attaches_list(many, nr);
}
static int switches(void)
{
	struct kpl_attach a = probe_of(kind_now, CALLED);
	int result;

	if (attach(on.fd, &a, 1))
		return -1;
	result = control(on.fd, KPL_CTL_DISABLE, a.id) ?: control(on.fd, KPL_CTL_ENABLE, a.id);
	on.ids[0] = a.id;
	return detaches(1) ?: result;
}
/* A child inherits memory that uprobes stand in, and calls under way. */
static int forks(void)
{
	struct kpl_attach a = probe_of(KPL_PROBE_URETPROBE, CALLED);
	pid_t child;

	if (attach(on.fd, &a, 1))
		return -1;
	child = fork();
	if (!child)
		_exit(in_this_program(1) != 2);
	if (child > 0)
		waitpid(child, NULL, 0);
	on.ids[0] = a.id;
	return detaches(1) ?: child < 0 ? -1 : 0;
}

/* --------------------------------------------------------------------- main */

static const char *const kinds[KPL_PROBE_KINDS] = {
	"kprobe", "kretprobe", "ftrace", "direct", "tracepoint", "event", "watch", "uprobe", "uretprobe",
};

static const char *only; /* how the names begin of what is tried */

static void each_allocation(const char *how, const char *what, int (*call)(void))
{
	unsigned n, failed = 0;
	char name[32];

	snprintf(name, sizeof(name), "%s: %s", how, what);
	if (strncmp(name, only, strlen(only)))
		return;
	prepare();
	EQ(call(), 0);
	close(on.fd);
	for (n = 1; n < 5000; n++) {
		int result, nth;

		prepare();
		refuse(n);
		result = call();
		nth = left();
		refuse(0);
		failed += result < 0;
		if (call()) {
			printf("%s does not work after its allocation %u was refused: %s\n", name, n, strerror(errno));
			checks_failed++;
		}
		close(on.fd);
		if (nth)
			break;
	}
	if (n == 5000 || (n == 1 && strcmp(how, "call"))) {
		printf("%s: %u allocations\n", name, n - 1);
		checks_failed++;
	}
	printf("%-26s %4u allocations, %4u of them needed\n", name, n - 1, failed);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} calls[] = {
		{ "open", opens }, { "rings", sets_up }, { "spare ring", spares }, { "hash", makes_hash }, { "keyed counts", makes_counts },
		{ "count", makes_count }, { "keyed histogram", makes_steps }, { "set a key", sets_key }, { "clear", clears },
		{ "load", loads }, { "run", runs }, { "title", titles }, { "map a ring", maps_rings }, { "fork", forks },
	};
	unsigned i;

	only = argc > 1 ? argv[1] : "";
	self = open("/proc/self/exe", O_RDONLY);
	refused = open("/proc/thread-self/fail-nth", O_RDWR);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		each_allocation("call", calls[i].name, calls[i].call);
	for (kind_now = 0; kind_now < KPL_PROBE_KINDS; kind_now++) {
		each_allocation("one", kinds[kind_now], attaches);
		each_allocation("one off and on", kinds[kind_now], switches);
	}
	for (kind_now = 0; kind_now <= KPL_PROBE_DIRECT; kind_now++)
		each_allocation("many", kinds[kind_now], attaches_many);
	printf("%d failed\n", checks_failed);
	return checks_failed != 0;
}
