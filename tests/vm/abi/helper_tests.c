/* SPDX-License-Identifier: MIT */
/* The helpers in the kernel: memory that is there and memory that is not, strings, stacks, identity. */
#define _GNU_SOURCE
#include "kit.h"

#include <asm/ptrace.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Addresses that no read may take for good, or crash on. */
static const uint64_t bad[] = {
	0, 1, 8, 0xfff, 0x400000, 0x7ffffffff000, 0x7fffffffffff, 0x800000000000, 0x8000000000000000,
	0xdead000000000100, 0xffff7fffffffffff, 0xffff800000000000, 0xffffc7ffffffffff, 0xfffffe0000000000 - 8,
	0xffffffffff600000, 0xffffffffff600ff8, 0xffffffffff5ffffc, 0xffffffffffe00000, -8ull, -4ull, -1ull,
};

/* Runs with `func` and `addr` of the hit as input, on both engines; they must agree. */
struct outcome {
	uint64_t result, bad_addr, data[16];
};

static struct outcome run_on_both(int fd, const struct bpf_insn *insns, unsigned nr, uint64_t func, uint64_t addr)
{
	struct outcome out[2] = {};
	unsigned engine;

	for (engine = 0; engine < 2; engine++) {
		struct kpl_prog_load l = {
			.kind = KPL_PROG_RET, .data_size = 128, .scratch_size = 8192, .budget = 100000,
			.flags = engine ? KPL_PROG_F_INTERPRET : 0,
		};
		struct kpl_hit hit = { .func = func, .addr = addr };
		struct kpl_prog_run r = { .hit = (uintptr_t)&hit };
		int id = load_with(fd, &l, insns, nr);

		if (id < 0)
			printf("%s: refused: %u at %u\n", test_name, l.reject, l.reject_pc);
		OK(id >= 0);
		r.id = id;
		r.data = (uintptr_t)out[engine].data;
		r.data_size = sizeof(out[engine].data);
		EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
		out[engine].result = r.result;
		out[engine].bad_addr = r.bad_addr;
	}
	OK(!memcmp(&out[0], &out[1], sizeof(out[0])));
	return out[0];
}

/* data[0] = the value, data[1] = the status. */
#define READ(helper)	PROG(MOV(7, 1), LD(2, 1, HIT(func)), CALL(helper), LD(6, 7, HIT(data)), ST(6, 0, 0), \
			     LDW(0, 7, HIT(status)), ST(6, 8, 0), RETURN(0))

static void reads(void)
{
	uint64_t banner = symbol("linux_banner");
	int fd = session();
	struct outcome o;
	unsigned i;

	o = run_on_both(fd, READ(read8), banner, 0);
	EQ(o.data[0], 'L');
	EQ(o.data[1], 0);
	o = run_on_both(fd, READ(read16), banner, 0);
	EQ(o.data[0], 'L' | 'i' << 8);
	o = run_on_both(fd, READ(read32), banner + 1, 0);
	EQ(o.data[0], 'i' | 'n' << 8 | 'u' << 16 | 'x' << 24);
	o = run_on_both(fd, READ(read64), banner, 0);
	OK(!memcmp(&o.data[0], "Linux ve", 8));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		o = run_on_both(fd, READ(read8), bad[i], 0);
		EQ(o.data[0], 0);
		EQ(o.data[1], KPL_STOP_READ);
		EQ(o.bad_addr, bad[i]);
		EQ(run_on_both(fd, READ(read16), bad[i], 0).data[1], KPL_STOP_READ);
		EQ(run_on_both(fd, READ(read32), bad[i], 0).data[1], KPL_STOP_READ);
		EQ(run_on_both(fd, READ(read64), bad[i], 0).data[1], KPL_STOP_READ);
	}
	close(fd);
}

/* A string of at most `limit` bytes to data; data[0] low half: its length; then the status at 120. */
#define STRING(helper, limit)									\
	PROG(MOV(7, 1), LD(6, 1, HIT(data)), LD(4, 1, HIT(func)), LD(5, 1, HIT(addr)),		\
	     MOV(2, 6), MOVI(3, limit), CALL(helper), LDW(0, 7, HIT(status)), ST(6, 120, 0), RETURN(0))

static void is_string(const struct outcome *o, const char *expected)
{
	const struct kpl_str *s = (const void *)o->data;
	unsigned end = s->len;

	EQ(o->data[15], 0);
	EQ(s->len, strlen(expected));
	EQ(s->reserved, 0);
	OK(!memcmp(s->bytes, expected, strlen(expected)));
	for (; end % 8; end++)
		EQ(s->bytes[end], 0);
}

static void kernel_strings(void)
{
	uint64_t banner = symbol("linux_banner");
	char expected[128];
	int fd = session();
	struct outcome o;
	struct utsname u;
	unsigned i;

	uname(&u);
	snprintf(expected, sizeof(expected), "Linux version %s (", u.release);
	/* From each alignment, of several lengths. */
	for (i = 0; i < 9; i++) {
		char part[128];

		snprintf(part, sizeof(part), "%.17s", expected + i);
		o = run_on_both(fd, STRING(str, 17), banner + i, 0);
		is_string(&o, part);
		part[16] = 0;
		o = run_on_both(fd, STRING(str, 16), banner + i, 0);
		is_string(&o, part);
		part[1] = 0;
		o = run_on_both(fd, STRING(str, 1), banner + i, 0);
		is_string(&o, part);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		o = run_on_both(fd, STRING(str, 64), bad[i], 0);
		EQ(o.data[15], KPL_STOP_READ);
		EQ((uint32_t)o.data[0], 0);
		EQ(run_on_both(fd, STRING(buf, 64), bad[i], 8).data[15], KPL_STOP_READ);
	}
	o = run_on_both(fd, STRING(buf, 64), banner, 13);
	is_string(&o, "Linux version");
	o = run_on_both(fd, STRING(buf, 8), banner, 1000);
	is_string(&o, "Linux ve");
	o = run_on_both(fd, STRING(buf, 8), banner, -1);
	is_string(&o, "Linux ve");
	close(fd);
}

static void user_strings(void)
{
	char *area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = area + 2 * 4096, *hole = area + 4096;
	uint64_t kernel = symbol("linux_banner");
	int fd = session();
	struct outcome o;
	unsigned i;

	OK(area != MAP_FAILED);
	memset(area, 'x', 3 * 4096);
	EQ(munmap(end, 4096), 0);
	for (i = 1; i < 90; i++) {
		char expected[128];

		memset(end - i, 'a', i - 1);
		end[-1] = 0;
		memset(expected, 'a', 128);
		expected[i - 1] = 0;
		o = run_on_both(fd, STRING(ustr, 96), (uintptr_t)end - i, 0);
		is_string(&o, expected);
	}
	/* No end before the hole; cut before it. */
	memset(end - 40, 'b', 40);
	o = run_on_both(fd, STRING(ustr, 96), (uintptr_t)end - 40, 0);
	EQ(o.data[15], KPL_STOP_USER_READ);
	EQ((uint32_t)o.data[0], 0);
	o = run_on_both(fd, STRING(ustr, 40), (uintptr_t)end - 40, 0);
	EQ(o.data[15], 0);
	EQ((uint32_t)o.data[0], 40);
	/* Bytes and numbers, up to the hole and over its edge. */
	o = run_on_both(fd, STRING(ubuf, 96), (uintptr_t)end - 40, 40);
	EQ((uint32_t)o.data[0], 40);
	EQ(run_on_both(fd, STRING(ubuf, 96), (uintptr_t)end - 40, 41).data[15], KPL_STOP_USER_READ);
	EQ(run_on_both(fd, STRING(ubuf, 8), kernel, 8).data[15], KPL_STOP_USER_READ);
	for (i = 1; i <= 8; i *= 2) {
		int prog = load(fd, KPL_PROG_PRE, PROG(IMM64(2, (uintptr_t)end - i), MOVI(3, i), CALL(uread), EXIT));

		EQ(run(fd, prog), 0x6262626262626262ull >> (64 - 8 * i));
	}
	/* Not resident; not there; not user memory. */
	EQ(madvise(hole, 4096, MADV_DONTNEED), 0);
	EQ(run_on_both(fd, STRING(ustr, 40), (uintptr_t)hole, 0).data[15], KPL_STOP_USER_READ);
	EQ(run_on_both(fd, STRING(ustr, 40), 0, 0).data[15], KPL_STOP_USER_READ);
	EQ(run_on_both(fd, STRING(ustr, 40), kernel, 0).data[15], KPL_STOP_USER_READ);
	EQ(run_on_both(fd, STRING(ustr, 40), -1, 0).data[15], KPL_STOP_USER_READ);
	EQ(run_on_both(fd, STRING(ustr, 40), 0x800000000000, 0).data[15], KPL_STOP_USER_READ);
	/* A kernel string is none of the user's, and the other way around. */
	EQ(run_on_both(fd, STRING(str, 40), (uintptr_t)area, 0).data[15], KPL_STOP_READ);
	munmap(area, 2 * 4096);
	close(fd);
}

static void identity(void)
{
	int fd = session();
	struct timespec before, after;
	uint64_t now;

	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(pid), EXIT))), getpid());
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(tid), EXIT))), gettid());
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(ppid), EXIT))), getppid());
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(uid), EXIT))), getuid());
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(gid), EXIT))), getgid());
	OK(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(cgroup), EXIT))) != 0);
	OK(run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(task), EXIT))) >= 0xff00000000000000);
	/* The very call that runs it. */
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(MOVI(1, offsetof(struct pt_regs, rsi)), CALL(user_reg), EXIT))), KPL_IOC_PROG_RUN);
	EQ(run(fd, load(fd, KPL_PROG_PRE, PROG(MOVI(1, sizeof(struct pt_regs)), CALL(user_reg), EXIT))), 0);
	clock_gettime(CLOCK_MONOTONIC, &before);
	now = run(fd, load(fd, KPL_PROG_PRE, PROG(CALL(now), EXIT)));
	clock_gettime(CLOCK_MONOTONIC, &after);
	OK(now >= before.tv_sec * 1000000000ull + before.tv_nsec);
	OK(now <= after.tv_sec * 1000000000ull + after.tv_nsec);
	close(fd);
}

/* The stack's eight innermost addresses, under key 0. */
#define STACK_PROG(helper, map)										\
	PROG(MOV(7, 1), LD(6, 1, HIT(scratch)), MOV(2, 6), MOVI(3, 64), CALL(helper), STI(10, -8, 0),	\
	     MOV(1, 7), MAP(2, map), MOV(3, 10), ADDI(3, -8), MOV(4, 6), CALL(map_set), RETURN(0))

/* What stands on the stack of a system call: the function itself, then its way from the entry. */
static void stacks(void)
{
	static const unsigned kinds[] = { KPL_PROBE_KPROBE, KPL_PROBE_FTRACE };
	uint64_t call_address = symbol(CALLED), entry = symbol("do_syscall_64");
	unsigned i;

	for (i = 0; i < 2; i++) {
		int fd = session();
		struct kpl_map_create map = { .kind = KPL_MAP_HASH, .key_size = 8, .value_size = 64 };
		unsigned id = map_create(fd, &map), at, found = 0;
		struct kpl_prog_load l = { .kind = KPL_PROG_PRE, .scratch_size = 64 };
		int prog = load_with(fd, &l, STACK_PROG(kstack, id));
		uint64_t key = 0, stack[8] = {};
		struct kpl_map_op op = {
			.id = id, .op = KPL_MAP_GET, .key = (uintptr_t)&key, .value = (uintptr_t)stack,
		};

		if (prog < 0)
			printf("%s: refused: %u at %u\n", test_name, l.reject, l.reject_pc);
		attach_one(fd, probe_at(CALLED, kinds[i], prog, KPL_NO_PROG));
		call(1);
		EQ(ioctl(fd, KPL_IOC_MAP_OP, &op), 0);
		EQ(stack[0], call_address);
		for (at = 1; at < 8; at++)
			found |= stack[at] > entry && stack[at] < entry + 0x400;
		EQ(found, 1);
		close(fd);
	}
}

/*
 * Registers that no hit made: nothing is walked by them.  Among these are addresses that the kernel
 * takes for stacks of exceptions, and that are mapped in some virtual machines alone.
 */
static void stack_of_nothing(void)
{
	int fd = session(), walk = load(fd, KPL_PROG_PRE,
		PROG(MOV(2, 10), ADDI(2, -64), MOVI(3, 64), CALL(kstack), EXIT));
	uint64_t ip = symbol(CALLED) + 64, base = 0, sp;
	struct pt_regs regs = { .rip = ip };
	struct kpl_prog_run r = { .id = walk, .regs = (uintptr_t)&regs, .regs_size = sizeof(regs) };

	stay_on(0);
	base = run(fd, load(fd, KPL_PROG_PRE, PROG(IMM64(2, symbol("__per_cpu_offset")), CALL(read64), EXIT)));
	base = run(fd, load(fd, KPL_PROG_PRE,
			    PROG(IMM64(2, base + symbol("cea_exception_stacks")), CALL(read64), EXIT)));
	OK(base > 0xff00000000000000);
	for (sp = base; sp < base + 0x20000; sp += 0x400) {
		regs.rsp = regs.rbp = sp;
		EQ(ioctl(fd, KPL_IOC_PROG_RUN, &r), 0);
		EQ(r.result, 1);
	}
	close(fd);
}

const struct test helper_tests[] = {
	{ "reads", reads },
	{ "kernel strings", kernel_strings },
	{ "user strings", user_strings },
	{ "identity", identity },
	{ "stacks", stacks },
	{ "stack of nothing", stack_of_nothing },
	{ NULL, NULL },
};
