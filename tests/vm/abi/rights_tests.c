/* SPDX-License-Identifier: MIT */
/* Who may use the device: by capabilities, from other processes, by io_uring and by the calls of 32-bit programs. */
#define _GNU_SOURCE
#include "kit.h"
#include "steps.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of another process, as far as its session is another's. */
#define FOREIGN	"info refused=EXDEV"

static void foreign_process(void)
{
	int fd = session();

	map_simple(fd, KPL_MAP_COUNT, 0);
	each_way(fd, FOREIGN);
	close(fd);
}

/* Both are enough, and each alone is not. */
static void no_capability(void)
{
	each_way(-1, "caps=perfmon,bpf open ring works caps=bpf info refused=EPERM closed=EPERM");
	each_way(-1, "caps=perfmon,bpf open ring works caps=perfmon info refused=EPERM closed=EPERM");
	each_way(-1, "open ring works caps= info refused=EPERM closed=EPERM");
}

/* What is armed and mapped goes on, and ends with the process. */
static void drops_while_armed(int unused)
{
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	int fd = session();
	const char *mapped;
	uint64_t total = 0;
	unsigned prog, cpu;

	(void)unused;
	map_create(fd, &map);
	mapped = mmap(NULL, map.mmap_size, PROT_READ, MAP_SHARED, fd, map.mmap_off);
	OK(mapped != MAP_FAILED);
	prog = load(fd, KPL_PROG_PRE, PROG(MAP(2, map.id), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0)));
	attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	set_caps(0);
	call(3);
	for (cpu = 0; cpu < info(fd).nr_cpus; cpu++)
		total += *(volatile uint64_t *)(mapped + cpu * map.nr_banks * map.bank_size +
						sizeof(struct kpl_agg_bank) + sizeof(struct kpl_agg_cell));
	EQ(total, 3);
	calls_fail(fd, EPERM, 1);
	_exit(checks_failed > 0); /* with all of it */
}

static void dropped_rights(void)
{
	in_child(drops_while_armed, -1);
	EQ(kprobes_listed(), 0);
}

/* What only CAP_SYS_ADMIN gives. */
static void with_less(int unused)
{
	struct kpl_attach watch = {
		.addr = symbol("jiffies_64"), .kind = KPL_PROBE_WATCH, .event = KPL_EVENT_WRITE, .len = 8,
		.prog = { 0, KPL_NO_PROG, KPL_NO_PROG },
	};
	struct kpl_prog_native native = { 0 };
	/* A breakpoint in the middle of an instruction changes what everybody's process does. */
	struct kpl_attach program = {
		.addr = 4096, .kind = KPL_PROBE_UPROBE, .flags = KPL_ATTACH_F_DISABLED,
		.prog = { 0, KPL_NO_PROG, KPL_NO_PROG }, .fd = open("/proc/self/exe", O_RDONLY),
	};
	int fd = session();
	unsigned early;

	(void)unused;
	EQ(load(fd, KPL_PROG_PRE, PROG(RETURN(0))), 0);
	early = attach_one(fd, program);
	set_caps(1ull << CAP_PERFMON | 1ull << CAP_BPF);
	FAILS(EPERM, control(fd, KPL_CTL_ENABLE, early));
	EQ(control(fd, KPL_CTL_DETACH, early), 0);
	close(fd);
	fd = session();
	EQ(load(fd, KPL_PROG_WATCH, PROG(RETURN(0))), 0);
	EQ(attach_error(fd, watch), EPERM);
	EQ(load(fd, KPL_PROG_PRE, PROG(RETURN(0))), 1);
	program.prog[0] = 1;
	EQ(attach_error(fd, program), EPERM);
	EQ(load(fd, KPL_PROG_RET, PROG(RETURN(0))), 2);
	program.kind = KPL_PROBE_URETPROBE;
	program.prog[0] = KPL_NO_PROG;
	program.prog[1] = 2;
	EQ(attach_error(fd, program), EPERM);
	FAILS(EPERM, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
	FAILS(EPERM, ioctl(fd, KPL_IOC_RIGHTS, &(struct kpl_rights){ .rights = KPL_RIGHT_INJECT }));
}

static void lesser_capabilities(void)
{
	in_child(with_less, -1);
}

/* The node may be opened by all: that gives nothing, nor does a descriptor; nor to root there, with all capabilities. */
static void unprivileged(void)
{
	struct stat before;
	int fd = session();

	EQ(stat(KPL_DEVICE, &before), 0);
	EQ(chmod(KPL_DEVICE, 0666), 0);
	each_way(fd, "user=1000 info refused=EPERM closed=EPERM namespace refused=EPERM closed=EPERM");
	each_way(-1, "open ring works user=1000 info refused=EPERM closed=EPERM");
	EQ(chmod(KPL_DEVICE, before.st_mode), 0);
	close(fd);
}

static void user_namespace(void)
{
	each_way(-1, "open ring works namespace info refused=EPERM closed=EPERM");
}

/* ----------------------------------------------------------- other processes */

union passed {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

static int receive(int from)
{
	union passed control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd = -1;

	EQ(recvmsg(from, &message, 0), 1);
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

static void pass(int to, int fd)
{
	union passed control = { .head = { CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec data = { "", 1 };
	struct msghdr message = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	EQ(sendmsg(to, &message, 0), 1);
}

static void use_passed(int from)
{
	int fd = receive(from);

	OK(fd >= 0);
	each_way(fd, FOREIGN);
	each_way(fd, "user=1000 info refused=EPERM");
}

/* Who receives it can't use it, nor keep the session when its opener closes it. */
static void passed_descriptor(void)
{
	int ends[2], prog, fd;

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	fd = session();
	map_simple(fd, KPL_MAP_COUNT, 0);
	pass(ends[0], fd);
	in_child(use_passed, ends[1]);
	prog = load(fd, KPL_PROG_PRE, PROG(RETURN(0)));
	attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG));
	pass(ends[0], fd);
	close(fd); /* it is in the socket still */
	EQ(kprobes_listed(), 0);
	fd = receive(ends[1]);
	calls_fail(fd, ESHUTDOWN, 1);
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

/* ------------------------------------------------------------- other sessions */

/* A session with one of each; the numbers are the same in each such session. */
struct one_of_each {
	int fd;
	struct kpl_map_create count, hash;
	struct kpl_ring_setup ring;
	struct kpl_attach attach;	/* the id is the probe's */
};

static struct one_of_each first;

static struct kpl_map_op hash_op(const struct one_of_each *of, unsigned op, uint64_t *key, uint64_t *value)
{
	return (struct kpl_map_op){ .id = of->hash.id, .op = op, .key = (uintptr_t)key, .value = (uintptr_t)value };
}

/* The place is looked up beforehand: not everybody sees addresses. */
static void fill(struct one_of_each *s, uint64_t value, struct kpl_attach at)
{
	struct kpl_map_op set;
	uint64_t key = 1;

	s->fd = session();
	s->count = (struct kpl_map_create){ .kind = KPL_MAP_COUNT };
	s->hash = (struct kpl_map_create){ .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 8 };
	s->ring = (struct kpl_ring_setup){ .size = 64 * 1024 };
	map_create(s->fd, &s->count);
	map_create(s->fd, &s->hash);
	set = hash_op(s, KPL_MAP_SET, &key, &value);
	EQ(ioctl(s->fd, KPL_IOC_MAP_OP, &set), 0);
	EQ(ioctl(s->fd, KPL_IOC_RING_SETUP, &s->ring), 0);
	s->attach = at;
	s->attach.prog[0] =
		load(s->fd, KPL_PROG_PRE, PROG(MAP(2, s->count.id), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0)));
	s->attach.id = attach_one(s->fd, s->attach);
}

static uint64_t kept_in(const struct one_of_each *s)
{
	uint64_t key = 1, value = 0;
	struct kpl_map_op get = hash_op(s, KPL_MAP_GET, &key, &value);

	EQ(ioctl(s->fd, KPL_IOC_MAP_OP, &get), 0);
	return value;
}

static int maps(int fd, uint64_t offset)
{
	void *area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, offset);

	return area != MAP_FAILED && !munmap(area, 4096);
}

/* What has a number in the first session has none in one that is empty. */
static void not_by_number(int fd)
{
	struct kpl_prog_load adding = { .kind = KPL_PROG_PRE };
	struct kpl_probe_stats stats = { .id = first.attach.id };
	struct kpl_site site;
	uint64_t key = 1, value = 0;
	struct kpl_map_op op;
	unsigned i, map = first.count.id, prog = first.attach.prog[0];

	FAILS(EINVAL, ioctl(fd, KPL_IOC_MAP_INFO, &(struct kpl_map_info){ .id = map }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_MAP_CLEAR, &(struct kpl_map_clear){ .id = map }));
	for (i = KPL_MAP_GET; i <= KPL_MAP_NEXT; i++) {
		op = hash_op(&first, i, &key, &value);
		FAILS(EINVAL, ioctl(fd, KPL_IOC_MAP_OP, &op));
	}
	FAILS(EACCES, load_with(fd, &adding, PROG(MAP(2, map), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0))));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_PROG_RUN, &(struct kpl_prog_run){ .id = prog }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_PROG_SITES, &(struct kpl_prog_sites){ .id = prog, .nr = 1, .sites = (uintptr_t)&site }));
	EQ(attach_error(fd, first.attach), EINVAL);
	for (i = KPL_CTL_DISABLE; i <= KPL_CTL_DETACH; i++)
		FAILS(EINVAL, control(fd, i, first.attach.id));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_STATS, &(struct kpl_stats){ .stats = (uintptr_t)&stats, .nr = 1 }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_FREE, &(struct kpl_free){ KPL_FREE_MAP, map }));
	FAILS(EINVAL, ioctl(fd, KPL_IOC_FREE, &(struct kpl_free){ KPL_FREE_PROG, prog }));
	OK(!maps(fd, first.count.mmap_off) && !maps(fd, first.ring.data_off) && !maps(fd, first.ring.ctl_off));
	OK(info(fd).memory < info(first.fd).memory);
	EQ(info(fd).hits_about, 0);
}

/* With the same numbers for its own, it reads, changes and ends those alone. */
static void own_by_number(void)
{
	struct one_of_each own;
	struct kpl_map_info of_hash;
	uint64_t key = 1;
	struct kpl_map_op erase;

	fill(&own, 9, first.attach);
	EQ(own.count.id, first.count.id);
	EQ(own.hash.id, first.hash.id);
	EQ(own.attach.prog[0], first.attach.prog[0]);
	EQ(own.attach.id, first.attach.id);
	EQ(kept_in(&own), 9);
	call(2);
	EQ(stats(own.fd, own.attach.id).entry.hits, 2);
	EQ(agg_total(own.fd, &own.count, 0), 2);
	erase = hash_op(&own, KPL_MAP_DELETE, &key, NULL);
	EQ(ioctl(own.fd, KPL_IOC_MAP_OP, &erase), 0);
	of_hash = (struct kpl_map_info){ .id = own.hash.id };
	EQ(ioctl(own.fd, KPL_IOC_MAP_INFO, &of_hash), 0);
	EQ(of_hash.entries, 0);
	EQ(ioctl(own.fd, KPL_IOC_MAP_CLEAR, &(struct kpl_map_clear){ .id = own.count.id }), 0);
	EQ(control(own.fd, KPL_CTL_DISABLE, own.attach.id), 0);
	EQ(control(own.fd, KPL_CTL_DETACH, own.attach.id), 0);
	EQ(ioctl(own.fd, KPL_IOC_FREE, &(struct kpl_free){ KPL_FREE_PROG, own.attach.prog[0] }), 0);
	EQ(ioctl(own.fd, KPL_IOC_FREE, &(struct kpl_free){ KPL_FREE_MAP, own.count.id }), 0);
	close(own.fd);
}

static void beside_the_first(int as_user)
{
	int fd;

	if (as_user)
		be_user(1000, 1ull << CAP_PERFMON | 1ull << CAP_BPF);
	fd = session();
	not_by_number(fd);
	close(fd);
	own_by_number();
}

static void other_session(void)
{
	struct stat before;
	int as_user;

	EQ(stat(KPL_DEVICE, &before), 0);
	EQ(chmod(KPL_DEVICE, 0666), 0);
	for (as_user = 0; as_user < 2; as_user++) {
		fill(&first, 2, probe_at(CALLED, KPL_PROBE_KPROBE, 0, KPL_NO_PROG));
		call(3);
		in_child(beside_the_first, as_user);
		call(3);
		EQ(kprobes_listed(), 1);
		OK(stats(first.fd, first.attach.id).state < KPL_STATE_DISABLED);
		EQ(stats(first.fd, first.attach.id).entry.hits, 8); /* the child's two as well */
		EQ(agg_total(first.fd, &first.count, 0), 8);
		EQ(kept_in(&first), 2);
		OK(maps(first.fd, first.ring.data_off));
		close(first.fd);
	}
	EQ(chmod(KPL_DEVICE, before.st_mode), 0);
}

/* It opens by the rights of who asks, and makes no calls of the device. */
static void io_uring(void)
{
	each_way(-1, "uring uring-open works info uring-command=EOPNOTSUPP caps=ptrace uring-closed=EPERM refused=EPERM");
}

/* --------------------------------------------------------------------- 32 bits */

#ifdef __x86_64__
#define IOCTL_32	54
#define OPEN_32		5
#define CALL_32(nr, a, b, c)	call_32(nr, a, b, c, 0, 0, 0)

static void calls_of_32_bits(void)
{
	struct low {
		char path[64];
		struct kpl_info info;
		struct kpl_map_create map;
		struct bpf_insn insns[2];
		struct kpl_prog_load load;
	} *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct bpf_insn insns[] = { RETURN(0) };
	long at = (long)low;
	int fd;

	if (!has_32_bits())
		return;
	OK(low != MAP_FAILED);
	strcpy(low->path, KPL_DEVICE);
	fd = CALL_32(OPEN_32, at, O_RDWR, 0);
	OK(fd >= 0);
	EQ(CALL_32(IOCTL_32, fd, KPL_IOC_INFO, (long)&low->info), 0);
	EQ(low->info.abi, KPL_ABI_VERSION);
	low->map.kind = KPL_MAP_COUNT;
	EQ(CALL_32(IOCTL_32, fd, KPL_IOC_MAP_CREATE, (long)&low->map), 0);
	memcpy(low->insns, insns, sizeof(insns));
	low->load = (struct kpl_prog_load){ .kind = KPL_PROG_PRE, .insns = (uintptr_t)low->insns, .nr_insns = 2 };
	EQ(CALL_32(IOCTL_32, fd, KPL_IOC_PROG_LOAD, (long)&low->load), 0);
	attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, low->load.id, KPL_NO_PROG));
	EQ(CALL_32(IOCTL_32, fd, KPL_IOC_PROG_LOAD, 0), -EFAULT);
	EQ(CALL_32(IOCTL_32, fd, 0x4bff, at), -ENOTTY);
	close(fd);
	EQ(kprobes_listed(), 0);
	munmap(low, 4096);
}
#endif

const struct test rights_tests[] = {
	{ "foreign process", foreign_process },
	{ "no capability", no_capability },
	{ "dropped rights", dropped_rights },
	{ "lesser capabilities", lesser_capabilities },
	{ "unprivileged", unprivileged },
	{ "user namespace", user_namespace },
	{ "passed descriptor", passed_descriptor },
	{ "other session", other_session },
	{ "io_uring", io_uring },
#ifdef __x86_64__
	{ "calls of 32 bits", calls_of_32_bits },
#endif
	{ NULL, NULL },
};
