/* SPDX-License-Identifier: MIT */
/*
 * A process of 32 bits with a session of its own, without a C library:
 * `client32 count ADDRESS` counts 10 calls of its system call getpriority by a
 * kprobe at the address, in hexadecimal, in a map that it reads, and exits with
 * the probe armed; `client32 returns` follows 10 calls of a function of its own
 * to their return.  Exit status 0, or the line where a call went wrong, modulo
 * 256.  `client32 WORD…` takes the steps of abi/steps.h: 0, or 1.
 */
#include <linux/bpf.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/poll.h>

#include "abi/steps.h"
#include "kprobe_lua.h"

#define SYS_exit	1
#define SYS_open	5
#define SYS_ioctl	54
#define SYS_getpriority	96
#define SYS_poll	168
#define SYS_mmap2	192

/* The stack as the kernel leaves it: the number of arguments, and where they are. */
void begin(long *stack);
asm(".pushsection .text; .globl _start\n"
    "_start: mov %esp, %eax; sub $12, %esp; push %eax; call begin\n"
    ".popsection");

#define OK(condition)							\
	do {								\
		if (!(condition))					\
			call_32(SYS_exit, __LINE__, 0, 0, 0, 0, 0);	\
	} while (0)
#define IOCTL(fd, nr, arg)	OK(!call_32(SYS_ioctl, fd, KPL_IOC_##nr, (long)(arg), 0, 0, 0))

static __u64 number(const char *text)
{
	__u64 value = 0;

	for (; *text; text++)
		value = value << 4 | (*text <= '9' ? *text - '0' : *text - 'a' + 10);
	return value;
}

static void count(const char *address)
{
	long fd = call_32(SYS_open, (long)KPL_DEVICE, O_RDWR, 0, 0, 0, 0), i;
	struct kpl_info info;
	struct kpl_map_create map = { .kind = KPL_MAP_COUNT };
	struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2, .src_reg = 1 }, {},
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 4, .imm = 1 },
		{ .code = BPF_JMP | BPF_CALL, .imm = KPL_H_agg_add },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct kpl_prog_load load = { .kind = KPL_PROG_PRE, .insns = (unsigned long)insns, .nr_insns = 7 };
	struct kpl_attach probe = { .kind = KPL_PROBE_KPROBE, .prog = { 0, KPL_NO_PROG, KPL_NO_PROG } };
	struct kpl_attach_batch batch = { .probes = (unsigned long)&probe, .nr = 1 };
	struct kpl_probe_stats stats = {};
	struct kpl_stats all = { .stats = (unsigned long)&stats, .nr = 1 };
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	const char *area;
	__u64 sum = 0, at;
	/* As the frame pointer: of 64 bits, this would be a frame. */
	__u32 frames[4] __attribute__((aligned(8))) = { 0, 0, 0x3333, 0 };

	OK(fd >= 0);
	IOCTL(fd, INFO, &info);
	OK(info.abi == KPL_ABI_VERSION && info.nr_cpus > 0);
	IOCTL(fd, MAP_CREATE, &map);
	area = (void *)call_32(SYS_mmap2, 0, map.mmap_size, PROT_READ, MAP_SHARED, fd, map.mmap_off >> 12);
	OK((unsigned long)area < -4096ul);
	insns[0].imm = map.id;
	IOCTL(fd, PROG_LOAD, &load);
	probe.prog[0] = load.id;
	probe.addr = probe.func = number(address);
	IOCTL(fd, ATTACH, &batch);
	OK(!probe.error);
	for (i = 0; i < 10; i++)
		call_32(SYS_getpriority, 0, 0, 0, 0, 0, (long)frames);
	stats.id = probe.id;
	IOCTL(fd, STATS, &all);
	OK(stats.entry.hits == 10 && stats.entry.handled == 10);
	for (at = 0; at < map.mmap_size; at += map.bank_size)
		sum += *(const __u64 *)(area + at + sizeof(struct kpl_agg_bank) + sizeof(struct kpl_agg_cell));
	OK(sum == 10);
	OK(call_32(SYS_poll, (long)&polled, 1, 0, 0, 0, 0) == 0);
}

extern const char __executable_start[];

__attribute__((noipa)) static void followed(void)
{
}

static void returns(void)
{
	long fd = call_32(SYS_open, (long)KPL_DEVICE, O_RDWR, 0, 0, 0, 0), i;
	struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct kpl_prog_load load = { .kind = KPL_PROG_RET, .insns = (unsigned long)insns, .nr_insns = 2 };
	struct kpl_attach probe = {
		.addr = (unsigned long)followed - (unsigned long)__executable_start, .kind = KPL_PROBE_URETPROBE,
		.fd = call_32(SYS_open, (long)"/proc/self/exe", O_RDONLY, 0, 0, 0, 0),
		.prog = { KPL_NO_PROG, KPL_NO_PROG, KPL_NO_PROG },
	};
	struct kpl_attach_batch batch = { .probes = (unsigned long)&probe, .nr = 1 };
	struct kpl_probe_stats stats = {};
	struct kpl_stats all = { .stats = (unsigned long)&stats, .nr = 1 };

	OK(fd >= 0);
	IOCTL(fd, PROG_LOAD, &load);
	probe.prog[1] = load.id;
	IOCTL(fd, ATTACH, &batch);
	OK(!probe.error);
	for (i = 0; i < 10; i++)
		followed();
	stats.id = probe.id;
	IOCTL(fd, STATS, &all);
	OK(stats.entry.handled == 10 && stats.ret.handled == 10 && stats.outstanding == 0);
}

static int begins(const char *word, const char *beginning)
{
	while (*beginning && *word == *beginning)
		word++, beginning++;
	return !*beginning;
}

void begin(long *stack)
{
	char **words = (char **)stack + 2;
	int failed = 0;

	if (stack[0] == 3 && begins(words[0], "count"))
		count(words[1]);
	else if (stack[0] == 2 && begins(words[0], "returns"))
		returns();
	else
		failed = steps(words);
	call_32(SYS_exit, failed, 0, 0, 0, 0, 0);
}
