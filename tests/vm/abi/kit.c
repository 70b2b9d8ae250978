/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

int checks_failed;
const char *test_name = "";

static void need(int condition, const char *what)
{
	if (condition)
		return;
	printf("%s: can't go on: %s: %s\n", test_name, what, strerror(errno));
	exit(1);
}

int session(void)
{
	struct kpl_share off = { .percent = KPL_SHARE_OFF };
	int fd = open(KPL_DEVICE, O_RDWR | O_CLOEXEC);

	need(fd >= 0, "open " KPL_DEVICE);
	/* An emulated CPU is slow: what handlers take of it is not to matter. */
	need(!ioctl(fd, KPL_IOC_SHARE, &off), "KPL_IOC_SHARE");
	return fd;
}

unsigned map_create(int fd, struct kpl_map_create *create)
{
	need(!ioctl(fd, KPL_IOC_MAP_CREATE, create), "KPL_IOC_MAP_CREATE");
	return create->id;
}

unsigned map_simple(int fd, unsigned kind, unsigned key_size)
{
	struct kpl_map_create create = { .kind = kind, .key_size = key_size };

	return map_create(fd, &create);
}

int load_with(int fd, struct kpl_prog_load *load, const struct bpf_insn *insns, unsigned nr)
{
	load->insns = (uintptr_t)insns;
	load->nr_insns = nr;
	return ioctl(fd, KPL_IOC_PROG_LOAD, load) ? -1 : (int)load->id;
}

int load(int fd, unsigned kind, const struct bpf_insn *insns, unsigned nr)
{
	struct kpl_prog_load load = { .kind = kind };
	int id = load_with(fd, &load, insns, nr);

	if (id < 0)
		printf("%s: refused: reason %u at %u\n", test_name, load.reject, load.reject_pc);
	need(id >= 0, "KPL_IOC_PROG_LOAD");
	return id;
}

struct kpl_attach probe_at(const char *name, unsigned kind, int first, int second)
{
	struct kpl_attach probe = {
		.addr = symbol(name), .func = symbol(name), .kind = kind,
		.prog = { first, second, KPL_NO_PROG },
	};

	need(probe.addr != 0, name);
	return probe;
}

int attach(int fd, struct kpl_attach *list, unsigned nr)
{
	struct kpl_attach_batch batch = { .probes = (uintptr_t)list, .nr = nr };

	return ioctl(fd, KPL_IOC_ATTACH, &batch);
}

unsigned attach_one(int fd, struct kpl_attach probe)
{
	int err = attach(fd, &probe, 1);

	if (err)
		printf("%s: error %d\n", test_name, probe.error);
	need(!err, "KPL_IOC_ATTACH");
	return probe.id;
}

int attach_error(int fd, struct kpl_attach probe)
{
	FAILS(ECANCELED, attach(fd, &probe, 1));
	return -probe.error;
}

int control(int fd, unsigned op, unsigned id)
{
	struct kpl_control control = { .ids = (uintptr_t)&id, .nr = 1, .op = op };

	return ioctl(fd, KPL_IOC_CONTROL, &control);
}

struct kpl_probe_stats stats(int fd, unsigned id)
{
	struct kpl_probe_stats one = { .id = id };
	struct kpl_stats all = { .stats = (uintptr_t)&one, .nr = 1 };

	need(!ioctl(fd, KPL_IOC_STATS, &all), "KPL_IOC_STATS");
	adds_up(&one);
	return one;
}

static void counts_add_up(const struct kpl_counts *c)
{
	EQ(c->hits, c->handled + c->skipped + c->missed + c->faults + c->errors + c->overruns);
}

void adds_up(const struct kpl_probe_stats *one)
{
	counts_add_up(&one->entry);
	counts_add_up(&one->ret);
}

struct kpl_info info(int fd)
{
	struct kpl_info info;

	need(!ioctl(fd, KPL_IOC_INFO, &info), "KPL_IOC_INFO");
	return info;
}

uint64_t run(int fd, unsigned prog)
{
	struct kpl_prog_run run = { .id = prog };

	need(!ioctl(fd, KPL_IOC_PROG_RUN, &run), "KPL_IOC_PROG_RUN");
	return run.result;
}

void call(unsigned n)
{
	while (n--)
		syscall(SYS_getpriority, PRIO_PROCESS, 0);
}

void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

void call_on_both(unsigned n)
{
	cpu_set_t all;
	pid_t child;

	sched_getaffinity(0, sizeof(all), &all);
	fflush(stdout);
	child = fork();
	stay_on(child ? 0 : 1);
	call(n);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	sched_setaffinity(0, sizeof(all), &all);
}

uint64_t symbol(const char *name)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long addr = 0, found = 0;
	char line[512], type, sym[256];

	need(f != NULL, "/proc/kallsyms");
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, sym) == 3 && !strcmp(sym, name))
			found = addr;
	fclose(f);
	return found;
}

static char state_of(int pid)
{
	char path[32], state = 0;
	FILE *f;

	sprintf(path, "/proc/%d/stat", pid);
	f = fopen(path, "r");
	need(f != NULL, path);
	need(fscanf(f, "%*d (%*[^)]) %c", &state) == 1, path);
	fclose(f);
	return state;
}

int asleep(int pid)
{
	return state_of(pid) == 'S';
}

int held_up(int pid)
{
	int i;

	for (i = 0; i < 10; i++, usleep(50 * 1000))
		if (state_of(pid) != 'D')
			return 0;
	return 1;
}

int kprobes_listed(void)
{
	FILE *f = fopen("/sys/kernel/debug/kprobes/list", "r");
	char line[512];
	int n = 0;

	need(f != NULL, "debugfs");
	while (fgets(line, sizeof(line), f))
		n++;
	fclose(f);
	return n;
}

uint64_t agg_total(int fd, const struct kpl_map_create *map, unsigned bank)
{
	char *area = mmap(NULL, map->mmap_size, PROT_READ, MAP_SHARED, fd, map->mmap_off);
	uint64_t total = 0;
	unsigned cpu;

	need(area != MAP_FAILED, "mmap of a map");
	for (cpu = 0; cpu < info(fd).nr_cpus; cpu++) {
		char *at = area + (cpu * map->nr_banks + bank) * map->bank_size;

		at += sizeof(struct kpl_agg_bank) + sizeof(struct kpl_agg_cell);
		total += *(volatile uint64_t *)at;
	}
	munmap(area, map->mmap_size);
	return total;
}

void set_caps(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = caps, .permitted = caps },
		{ .effective = caps >> 32, .permitted = caps >> 32 },
	};

	EQ(syscall(SYS_capset, &head, data), 0);
}

void be_user(unsigned user, uint64_t caps)
{
	EQ(prctl(PR_SET_KEEPCAPS, 1), 0);
	EQ(setresuid(user, user, user), 0);
	set_caps(caps);
}

int debians_kernel(void)
{
	static const char ending[] = "-cloud-amd64";
	struct utsname name;
	size_t length;

	need(!uname(&name), "uname");
	length = strlen(name.release);
	return length >= sizeof(ending) - 1 && !strcmp(name.release + length - (sizeof(ending) - 1), ending);
}

void load_module(const char *which, const char *parameters)
{
	int file = open(getenv(which), O_RDONLY | O_CLOEXEC);

	OK(!syscall(SYS_finit_module, file, parameters, 0) || errno == EEXIST);
	close(file);
}

char of_target(const char *parameter, const char *set)
{
	char path[64], is = 0;
	int fd;

	snprintf(path, sizeof(path), "/sys/module/kpl_target/parameters/%s", parameter);
	fd = open(path, set ? O_WRONLY : O_RDONLY);
	OK((set ? write(fd, set, 1) : read(fd, &is, 1)) == 1);
	close(fd);
	return is;
}

void in_child(void (*body)(int fd), int fd)
{
	int status;

	fflush(stdout);
	if (!fork()) {
		body(fd);
		fflush(stdout);
		_exit(checks_failed ? 1 : 0);
	}
	wait(&status);
	EQ(status, 0);
}
