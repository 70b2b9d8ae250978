/* SPDX-License-Identifier: MIT */
/* Who may use the device: by capabilities, from other processes, by io_uring and by the calls of 32-bit programs. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void use_from_child(int fd)
{
	struct kpl_ring_setup ring = { .size = 4096 };

	FAILS(EXDEV, ioctl(fd, KPL_IOC_RING_SETUP, &ring));
	calls_fail(fd, EXDEV, 1);
	EQ(info(fd).abi, KPL_ABI_VERSION);
}

static void foreign_process(void)
{
	int fd = session();

	map_simple(fd, KPL_MAP_COUNT, 0);
	in_child(use_from_child, fd);
	close(fd);
}

static void without_rights(int kept)
{
	int fd = session();
	struct kpl_ring_setup ring = { .size = 4096 };

	set_caps(1ull << CAP_PERFMON | 1ull << CAP_BPF);
	EQ(ioctl(fd, KPL_IOC_RING_SETUP, &ring), 0);
	set_caps(1ull << kept);
	FAILS(EPERM, ioctl(fd, KPL_IOC_RING_SETUP, &ring));
	OK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, ring.data_off) == MAP_FAILED && errno == EPERM);
	calls_fail(fd, EPERM, 1);
	FAILS(EPERM, open(KPL_DEVICE, O_RDWR));
	EQ(info(fd).abi, KPL_ABI_VERSION);
}

static void no_capability(void)
{
	in_child(without_rights, CAP_BPF);
	in_child(without_rights, CAP_PERFMON);
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
	int fd;

	(void)unused;
	set_caps(1ull << CAP_PERFMON | 1ull << CAP_BPF);
	fd = session();
	EQ(load(fd, KPL_PROG_WATCH, PROG(RETURN(0))), 0);
	EQ(attach_error(fd, watch), EPERM);
	FAILS(EPERM, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
	FAILS(EPERM, ioctl(fd, KPL_IOC_RIGHTS, &(struct kpl_rights){ .rights = KPL_RIGHT_INJECT }));
}

static void lesser_capabilities(void)
{
	in_child(with_less, -1);
}

/* The node may be opened by all: that gives nothing. */
static void as_a_user(int unused)
{
	(void)unused;
	EQ(chmod(KPL_DEVICE, 0666), 0);
	EQ(setresuid(1000, 1000, 1000), 0);
	FAILS(EPERM, open(KPL_DEVICE, O_RDWR));
	FAILS(EPERM, open(KPL_DEVICE, O_RDONLY));
	/* root there, with all capabilities */
	EQ(unshare(CLONE_NEWUSER), 0);
	FAILS(EPERM, open(KPL_DEVICE, O_RDWR));
}

static void unprivileged(void)
{
	struct stat before;

	EQ(stat(KPL_DEVICE, &before), 0);
	in_child(as_a_user, -1);
	EQ(chmod(KPL_DEVICE, before.st_mode), 0);
}

static void in_user_namespace(int unused)
{
	struct kpl_ring_setup ring = { .size = 4096 };
	int fd = session();

	(void)unused;
	EQ(ioctl(fd, KPL_IOC_RING_SETUP, &ring), 0);
	EQ(unshare(CLONE_NEWUSER), 0);
	FAILS(EPERM, ioctl(fd, KPL_IOC_MAP_CREATE, &(struct kpl_map_create){ .kind = KPL_MAP_COUNT }));
	OK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, ring.data_off) == MAP_FAILED && errno == EPERM);
	EQ(info(fd).abi, KPL_ABI_VERSION);
}

static void user_namespace(void)
{
	in_child(in_user_namespace, -1);
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
	use_from_child(fd);
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
	FAILS(ESHUTDOWN, ioctl(fd, KPL_IOC_MAP_CREATE, &(struct kpl_map_create){ .kind = KPL_MAP_COUNT }));
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

/* What has a number in one session has none in another. */
static void other_session(void)
{
	int one = session(), other = session();
	unsigned map = map_simple(one, KPL_MAP_COUNT, 0), probe;
	int prog = load(one, KPL_PROG_PRE, PROG(RETURN(0)));
	struct kpl_prog_load adding = { .kind = KPL_PROG_PRE };
	struct kpl_attach foreign = probe_at(CALLED, KPL_PROBE_KPROBE, prog, KPL_NO_PROG);

	probe = attach_one(one, foreign);
	FAILS(EINVAL, ioctl(other, KPL_IOC_MAP_INFO, &(struct kpl_map_info){ .id = map }));
	FAILS(EACCES, load_with(other, &adding, PROG(MAP(2, map), MOVI(3, 0), MOVI(4, 1), CALL(agg_add), RETURN(0))));
	OK(attach(other, &foreign, 1) < 0);
	OK(control(other, KPL_CTL_ENABLE, probe) < 0);
	OK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 3ll << 41) == MAP_FAILED);
	close(other);
	EQ(kprobes_listed(), 1);
	close(one);
}

/* ------------------------------------------------------------------- io_uring */

struct uring {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void *uring_map(int fd, size_t size, off_t offset)
{
	void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	OK(area != MAP_FAILED);
	return area;
}

static struct uring uring_open(void)
{
	struct io_uring_params p = { 0 };
	struct uring ring = { .fd = syscall(SYS_io_uring_setup, 4, &p) };
	char *sq, *cq;

	OK(ring.fd >= 0);
	sq = uring_map(ring.fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = uring_map(ring.fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	ring.sqes = uring_map(ring.fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.sq_tail = (unsigned *)(sq + p.sq_off.tail);
	ring.sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (unsigned *)(sq + p.sq_off.array);
	ring.cq_head = (unsigned *)(cq + p.cq_off.head);
	ring.cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return ring;
}

/* One request, waited for; in a worker of the kernel's. */
static int uring_do(struct uring *ring, struct io_uring_sqe request)
{
	unsigned at = *ring->sq_tail & *ring->sq_mask;
	int result;

	request.flags = IOSQE_ASYNC;
	ring->sqes[at] = request;
	ring->sq_array[at] = at;
	__atomic_store_n(ring->sq_tail, *ring->sq_tail + 1, __ATOMIC_RELEASE);
	EQ(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0), 1);
	result = ring->cqes[*ring->cq_head & *ring->cq_mask].res;
	__atomic_store_n(ring->cq_head, *ring->cq_head + 1, __ATOMIC_RELEASE);
	return result;
}

static int uring_opens(struct uring *ring)
{
	return uring_do(ring, (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT,
						     .fd = AT_FDCWD,
						     .open_flags = O_RDWR,
						     .addr = (uintptr_t)KPL_DEVICE });
}

/* It opens by the rights of who asks, and makes no calls of the device. */
static void by_io_uring(int unused)
{
	struct uring ring = uring_open();
	struct io_uring_sqe request;
	int fd = uring_opens(&ring);

	(void)unused;
	OK(fd >= 0);
	map_simple(fd, KPL_MAP_COUNT, 0);
	request = (struct io_uring_sqe){ .opcode = IORING_OP_URING_CMD, .fd = fd, .off = KPL_IOC_MAP_CREATE };
	EQ(uring_do(&ring, request), -EOPNOTSUPP);
	set_caps(1ull << CAP_SYS_PTRACE);
	EQ(uring_opens(&ring), -EPERM);
}

static void io_uring(void)
{
	in_child(by_io_uring, -1);
}

/* --------------------------------------------------------------------- 32 bits */

#ifdef __x86_64__
/* As a 32-bit program calls: the kernel takes its ioctls by another way. */
static long call_32(long nr, long a, long b, long c)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(nr), "b"(a), "c"(b), "d"(c)
		     : "memory", "r8", "r9", "r10", "r11");
	return result;
}

#define IOCTL_32	54
#define OPEN_32		5

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

	OK(low != MAP_FAILED);
	strcpy(low->path, KPL_DEVICE);
	fd = call_32(OPEN_32, at, O_RDWR, 0);
	OK(fd >= 0);
	EQ(call_32(IOCTL_32, fd, KPL_IOC_INFO, (long)&low->info), 0);
	EQ(low->info.abi, KPL_ABI_VERSION);
	low->map.kind = KPL_MAP_COUNT;
	EQ(call_32(IOCTL_32, fd, KPL_IOC_MAP_CREATE, (long)&low->map), 0);
	memcpy(low->insns, insns, sizeof(insns));
	low->load = (struct kpl_prog_load){ .kind = KPL_PROG_PRE, .insns = (uintptr_t)low->insns, .nr_insns = 2 };
	EQ(call_32(IOCTL_32, fd, KPL_IOC_PROG_LOAD, (long)&low->load), 0);
	attach_one(fd, probe_at(CALLED, KPL_PROBE_KPROBE, low->load.id, KPL_NO_PROG));
	EQ(call_32(IOCTL_32, fd, KPL_IOC_PROG_LOAD, 0), -EFAULT);
	EQ(call_32(IOCTL_32, fd, 0x4bff, at), -ENOTTY);
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
