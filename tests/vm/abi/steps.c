/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/io_uring.h>
#include <linux/mman.h>
#include <linux/sched.h>

#include "kprobe_lua.h"

#ifndef MAP_32BIT
#define MAP_32BIT	0
#endif

/* -------------------------------------------------------------------- calls */

enum { OPEN, IOCTL, MMAP, READ, WRITE, CAPSET, SETRESUID, UNSHARE, URING_SETUP, URING_ENTER };

#if defined(__x86_64__) || defined(__i386__)
static const short numbers_32[] = {
	[OPEN] = 5, [IOCTL] = 54, [MMAP] = 192, [READ] = 3, [WRITE] = 4, [CAPSET] = 185,
	[SETRESUID] = 208, [UNSHARE] = 310, [URING_SETUP] = 425, [URING_ENTER] = 426,
};
#endif

#ifdef __i386__
asm(".pushsection .text; .globl call_32\n"
    "call_32: push %ebx; push %esi; push %edi; push %ebp\n"
    "	mov 20(%esp), %eax; mov 24(%esp), %ebx; mov 28(%esp), %ecx; mov 32(%esp), %edx\n"
    "	mov 36(%esp), %esi; mov 40(%esp), %edi; mov 44(%esp), %ebp\n"
    "	int $0x80\n"
    "	pop %ebp; pop %edi; pop %esi; pop %ebx; ret\n"
    ".popsection");

static const int steps_bits = 32;
#define CALL(what, a, b, c, d, e, f)	call_32(numbers_32[what], a, b, c, d, e, f)
#else
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

int steps_bits = 64;

#ifdef __x86_64__
long call_32(long nr, long a, long b, long c, long d, long e, long f)
{
	register long last asm("r12") = f;
	long result;

	asm volatile("xchg %%rbp, %1; int $0x80; xchg %%rbp, %1"
		     : "=a"(result), "+r"(last)
		     : "0"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
		     : "memory", "r8", "r9", "r10", "r11");
	return result;
}
#endif

static long call_own(int what, long a, long b, long c, long d, long e, long f)
{
	static const short numbers[] = {
		[OPEN] = SYS_openat, [IOCTL] = SYS_ioctl, [MMAP] = SYS_mmap, [READ] = SYS_read,
		[WRITE] = SYS_write, [CAPSET] = SYS_capset, [SETRESUID] = SYS_setresuid,
		[UNSHARE] = SYS_unshare, [URING_SETUP] = SYS_io_uring_setup,
		[URING_ENTER] = SYS_io_uring_enter,
	};
	long result;

#ifdef __x86_64__
	if (steps_bits == 32)
		return call_32(numbers_32[what], a, b, c, d, e, f);
#endif
	result = what == OPEN ? syscall(SYS_openat, AT_FDCWD, a, b, c) :
				syscall(numbers[what], a, b, c, d, e, f);
	return result == -1 ? -errno : result;
}

#define CALL(what, a, b, c, d, e, f)	call_own(what, a, b, c, d, e, f)
#endif

#define CALL3(what, a, b, c)	CALL(what, (long)(a), (long)(b), (long)(c), 0, 0, 0)

/* What calls read and write, where pointers of 32 bits lead. */
static struct low {
	char path[sizeof(KPL_DEVICE)], byte, text[256];
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct caps[2];
	struct io_uring_params uring;
	struct kpl_info info;
	struct kpl_ring_setup ring;
	struct kpl_map_create map;
	__u64 zeros[512];
} *low;

static long map(unsigned long size, int prot, int flags, int fd, __u64 offset)
{
	return CALL(MMAP, 0, size, prot, flags, fd, steps_bits == 32 ? offset >> 12 : offset);
}

static int is_error(long result)
{
	return (unsigned long)result > -4096ul;
}

static void reserve(void)
{
	const char *from = KPL_DEVICE;
	char *to;

	if (!low)
		low = (void *)CALL(MMAP, 0, sizeof(*low), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	for (to = low->path; (*to++ = *from++) != '\0';)
		continue;
}

/* ------------------------------------------------------------------- numbers */

struct name {
	const char *name;
	int number;
};

static const struct name errors[] = {
	{ "EPERM", EPERM },   { "EXDEV", EXDEV }, { "ESHUTDOWN", ESHUTDOWN },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { 0 },
};
static const struct name capabilities[] = {
	{ "bpf", CAP_BPF }, { "perfmon", CAP_PERFMON }, { "ptrace", CAP_SYS_PTRACE }, { 0 },
};

/* What is behind `name` in the text, or NULL. */
static const char *behind(const char *name, const char *text)
{
	while (*name && *name == *text)
		name++, text++;
	return *name ? 0 : text;
}

/* -1: none of these; the text goes on behind it. */
static int number_of(const struct name *list, const char **text)
{
	for (; list->name; list++) {
		const char *rest = behind(list->name, *text);

		if (rest && (!*rest || *rest == ',')) {
			*text = *rest ? rest + 1 : rest;
			return list->number;
		}
	}
	return -1;
}

static int decimal(const char *text)
{
	int value = 0;

	for (; *text; text++)
		value = 10 * value + *text - '0';
	return value;
}

/* ---------------------------------------------------------------------- told */

static char *put(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
	return to;
}

static char *put_number(char *to, long number)
{
	char digits[24], *at = digits + sizeof(digits);

	if (number < 0)
		*to++ = '-', number = -number;
	*--at = '\0';
	do
		*--at = '0' + number % 10;
	while (number /= 10);
	return put(to, at);
}

static const char *step = "";	/* the word that is at work */

/* 0 if it is what was wanted; else it is told, and 1. */
static int differs(const char *what, long got, long wanted)
{
	char *at = low->text;

	if (got == wanted)
		return 0;
	at = put_number(at, steps_bits);
	at = put(put(put(put(at, " bits: "), step), " "), what);
	at = put_number(put(at, " is "), got);
	at = put_number(put(at, ", not "), wanted);
	CALL3(WRITE, 2, low->text, put(at, "\n") - low->text);
	return 1;
}

/* ---------------------------------------------------------------------- steps */

static int fd = -1;
static struct {
	const char *text;
	int number;	/* a descriptor, a user, an error */
} value;	/* the word's */
static __u64 mapped_at = 3ull << 41;	/* a map's, if there were one */

enum { LOCKED = 1, GOES_ON = 2, UNCHECKED = 4 };

int refused(int of, int error, int all)
{
	static const struct {
		const char *name;
		unsigned long cmd;
		unsigned flags;
	} calls[] = {
#define IOCTL(nr, name, flags) { #nr, KPL_IOC_##nr, flags },
#include "ioctls.def"
#undef IOCTL
	};
	unsigned i, j;
	int wrong = 0;

	reserve();
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!all && calls[i].flags & GOES_ON)
			continue;
		for (j = 0; j < sizeof(low->zeros) / sizeof(low->zeros[0]); j++)
			low->zeros[j] = 0;
		wrong += differs(calls[i].name, CALL3(IOCTL, of, calls[i].cmd, low->zeros), -error);
	}
	return wrong + differs("mmap", map(4096, PROT_READ, MAP_SHARED, of, mapped_at), -error);
}

static int opens(int flags)
{
	return differs("open", CALL3(OPEN, low->path, flags, 0), -value.number);
}

static int do_fd(void)
{
	fd = value.number;
	return 0;
}

static int do_open(void)
{
	fd = CALL3(OPEN, low->path, O_RDWR, 0);
	return differs("open", fd < 0 ? fd : 0, 0);
}

static int do_closed(void)
{
	return opens(O_RDWR) || opens(O_RDONLY);
}

static int do_info(void)
{
	low->info.abi = 0;
	return differs("INFO", CALL3(IOCTL, fd, KPL_IOC_INFO, &low->info), 0) ||
	       differs("abi", low->info.abi, KPL_ABI_VERSION);
}

static int do_works(void)
{
	low->map = (struct kpl_map_create){ .kind = KPL_MAP_COUNT };
	return differs("MAP_CREATE", CALL3(IOCTL, fd, KPL_IOC_MAP_CREATE, &low->map), 0);
}

static int do_ring(void)
{
	low->ring = (struct kpl_ring_setup){ .size = 4096 };
	if (differs("RING_SETUP", CALL3(IOCTL, fd, KPL_IOC_RING_SETUP, &low->ring), 0))
		return 1;
	mapped_at = low->ring.data_off;
	return differs("mmap", is_error(map(4096, PROT_READ, MAP_SHARED, fd, mapped_at)), 0);
}

static int do_refused(void)
{
	return refused(fd, value.number, 1);
}

static int do_begins(void)
{
	return refused(fd, value.number, 0);
}

static int do_caps(void)
{
	low->head.version = _LINUX_CAPABILITY_VERSION_3;
	low->caps[0] = low->caps[1] = (struct __user_cap_data_struct){ 0 };
	while (*value.text) {
		int number = number_of(capabilities, &value.text);

		if (differs("known", number >= 0, 1))
			return 1;
		low->caps[number / 32].permitted |= 1u << number % 32;
		low->caps[number / 32].effective |= 1u << number % 32;
	}
	return differs("capset", CALL3(CAPSET, &low->head, low->caps, 0), 0);
}

static int do_user(void)
{
	return differs("setresuid", CALL3(SETRESUID, value.number, value.number, value.number), 0);
}

static int do_namespace(void)
{
	return differs("unshare", CALL3(UNSHARE, CLONE_NEWUSER, 0, 0), 0);
}

static int do_wait(void)
{
	return differs("write", CALL3(WRITE, 1, &low->byte, 1), 1) ||
	       differs("read", CALL3(READ, 0, &low->byte, 1), 1);
}

/* ------------------------------------------------------------------- io_uring */

static struct {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} uring;

static char *uring_map(__u64 offset)
{
	return (char *)map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring.fd, offset);
}

static int do_uring(void)
{
	const struct io_uring_params *p = &low->uring;
	char *sq, *cq;

	uring.fd = CALL3(URING_SETUP, 4, p, 0);
	if (differs("io_uring_setup", uring.fd < 0 ? uring.fd : 0, 0))
		return 1;
	sq = uring_map(IORING_OFF_SQ_RING);
	cq = uring_map(IORING_OFF_CQ_RING);
	uring.sqes = (void *)uring_map(IORING_OFF_SQES);
	if (differs("mmap", is_error((long)sq) || is_error((long)cq) || is_error((long)uring.sqes), 0))
		return 1;
	uring.sq_tail = (unsigned *)(sq + p->sq_off.tail);
	uring.sq_mask = (unsigned *)(sq + p->sq_off.ring_mask);
	uring.sq_array = (unsigned *)(sq + p->sq_off.array);
	uring.cq_head = (unsigned *)(cq + p->cq_off.head);
	uring.cq_mask = (unsigned *)(cq + p->cq_off.ring_mask);
	uring.cqes = (struct io_uring_cqe *)(cq + p->cq_off.cqes);
	return 0;
}

/* One request, waited for; in a worker of the kernel's. */
static int uring_do(struct io_uring_sqe request)
{
	unsigned at = *uring.sq_tail & *uring.sq_mask;
	int result;

	request.flags = IOSQE_ASYNC;
	uring.sqes[at] = request;
	uring.sq_array[at] = at;
	__atomic_store_n(uring.sq_tail, *uring.sq_tail + 1, __ATOMIC_RELEASE);
	if (differs("io_uring_enter", CALL(URING_ENTER, uring.fd, 1, 1, IORING_ENTER_GETEVENTS, 0, 0), 1))
		return 0;
	result = uring.cqes[*uring.cq_head & *uring.cq_mask].res;
	__atomic_store_n(uring.cq_head, *uring.cq_head + 1, __ATOMIC_RELEASE);
	return result;
}

static int uring_opens(void)
{
	return uring_do((struct io_uring_sqe){ .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .open_flags = O_RDWR,
					       .addr = (unsigned long)low->path });
}

static int do_uring_open(void)
{
	fd = uring_opens();
	return differs("open", fd < 0 ? fd : 0, 0);
}

static int do_uring_closed(void)
{
	return differs("open", uring_opens(), -value.number);
}

static int do_uring_command(void)
{
	return differs("command", uring_do((struct io_uring_sqe){ .opcode = IORING_OP_URING_CMD, .fd = fd,
								  .off = KPL_IOC_MAP_CREATE }),
		       -value.number);
}

/* ---------------------------------------------------------------------- words */

enum takes { NOTHING, NUMBER, ERROR, TEXT };

static const struct {
	const char *name;
	enum takes takes;
	int (*run)(void);
} words_known[] = {
	{ "fd=", NUMBER, do_fd },
	{ "open", NOTHING, do_open },
	{ "closed=", ERROR, do_closed },
	{ "info", NOTHING, do_info },
	{ "works", NOTHING, do_works },
	{ "ring", NOTHING, do_ring },
	{ "refused=", ERROR, do_refused },
	{ "begins=", ERROR, do_begins },
	{ "caps=", TEXT, do_caps },
	{ "user=", NUMBER, do_user },
	{ "namespace", NOTHING, do_namespace },
	{ "uring", NOTHING, do_uring },
	{ "uring-open", NOTHING, do_uring_open },
	{ "uring-closed=", ERROR, do_uring_closed },
	{ "uring-command=", ERROR, do_uring_command },
	{ "wait", NOTHING, do_wait },
};

static int one_step(const char *word)
{
	unsigned i;

	step = word;
	for (i = 0; i < sizeof(words_known) / sizeof(words_known[0]); i++) {
		value.text = behind(words_known[i].name, word);
		if (!value.text || (words_known[i].takes == NOTHING && *value.text))
			continue;
		if (words_known[i].takes == NUMBER)
			value.number = decimal(value.text);
		if (words_known[i].takes == ERROR)
			value.number = number_of(errors, &value.text);
		return differs("known", value.number >= 0, 1) || words_known[i].run();
	}
	return differs("known", 0, 1);
}

int steps(char **words)
{
	reserve();
	for (; *words; words++)
		if (one_step(*words))
			return 1;
	return 0;
}
