/* SPDX-License-Identifier: MIT */
/* The copy of a program's native code. */
#define _GNU_SOURCE
#include "kit.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define MARK 0x12345678

/* r0 = MARK stands behind a loop, so that guards stand before it. */
#define MARKED PROG(MOVI(1, 3), ADDI(1, -1), JEQI(1, 0, 1), JA(-3), MOVI(0, MARK), RETURN(0))
#define NR_MARKED 7
static const struct kpl_label marked_loop = { .pc = 1, .type = { [1] = KPL_T_NUM } };

static int load_marked(int fd, unsigned flags, struct kpl_prog_load *load)
{
	*load = (struct kpl_prog_load) {
		.kind = KPL_PROG_PRE, .flags = flags, .labels = (uintptr_t)&marked_loop, .nr_labels = 1,
	};
	return load_with(fd, load, MARKED);
}

static void native_code(void)
{
	unsigned char code[4096];
	uint32_t starts[NR_MARKED], mark = MARK;
	struct kpl_prog_load load;
	int fd = session(), id = load_marked(fd, KPL_PROG_F_PLACES, &load);
	struct kpl_prog_native native = {
		.id = id, .size = sizeof(code), .code = (uintptr_t)code,
		.starts = (uintptr_t)starts, .nr_starts = NR_MARKED,
	};
	int i;

	EQ(load.reject, 0);
	EQ(ioctl(fd, KPL_IOC_PROG_NATIVE, &native), 0);
	EQ(native.size, load.native_len);
	OK(native.addr > (uint64_t)INT64_MAX);
	for (i = 1; i < NR_MARKED; i++)
		OK(starts[i] > starts[i - 1] && starts[i] < native.size);
	/* The fifth instruction's immediate is in its code, and nowhere before. */
	OK(memmem(code + starts[4], starts[5] - starts[4], &mark, sizeof(mark)));
	OK(!memmem(code, starts[4], &mark, sizeof(mark)));
}

static void native_code_refused(void)
{
	unsigned char code[8] = { 0 };
	uint32_t starts[NR_MARKED];
	struct kpl_prog_load load;
	int fd = session(), plain = load_marked(fd, 0, &load);
	int slow = load_marked(fd, KPL_PROG_F_INTERPRET | KPL_PROG_F_PLACES, &load);
	struct kpl_prog_native native = { .id = plain, .size = 4, .code = (uintptr_t)code };

	/* What has no room is left out. */
	EQ(ioctl(fd, KPL_IOC_PROG_NATIVE, &native), 0);
	OK(native.size > 4);
	EQ(code[4] | code[5] | code[6] | code[7], 0);
	native.starts = (uintptr_t)starts;
	native.nr_starts = NR_MARKED;
	FAILS(ENODATA, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
	native.nr_starts = NR_MARKED - 1;
	FAILS(EINVAL, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
	native = (struct kpl_prog_native) { .id = slow, .size = 4, .code = (uintptr_t)code };
	EQ(ioctl(fd, KPL_IOC_PROG_NATIVE, &native), 0);
	EQ(native.size, 0);
	native.id = 77;
	FAILS(EINVAL, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
	native = (struct kpl_prog_native) { .id = plain, .reserved = 1 };
	FAILS(EINVAL, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
	native = (struct kpl_prog_native) { .id = plain, .size = 8, .code = 8 };
	FAILS(EFAULT, ioctl(fd, KPL_IOC_PROG_NATIVE, &native));
}

/* What is loaded beyond the bound is interpreted; a session that ends gives its own back. */
static void native_code_bounded(void)
{
	enum { NR = 4000, BOUND = 32 << 20, OTHERS = 1 << 20 };
	static struct bpf_insn insns[NR + 4];
	struct kpl_prog_load load = { .jited = 1 };
	int fd = session(), other = session(), i;
	uint64_t bytes = 0;

	insns[0] = MOVI(1, 1000);
	insns[1] = MOVI(2, 1);
	for (i = 2; i < NR + 2; i++)
		insns[i] = INSN(BPF_ALU64 | BPF_DIV | BPF_X, 1, 2, 0, 0);
	insns[NR + 2] = MOV(0, 1);
	insns[NR + 3] = EXIT;
	while (load.jited && bytes <= BOUND) {
		load = (struct kpl_prog_load) { .kind = KPL_PROG_PRE };
		OK(load_with(fd, &load, insns, NR + 4) >= 0);
		bytes += load.native_len;
	}
	OK(bytes > BOUND - OTHERS && bytes <= BOUND);
	EQ(load.jited, 0);
	EQ(run(fd, load.id), 1000);
	close(fd);
	do
		load = (struct kpl_prog_load) { .kind = KPL_PROG_PRE };
	while (load_with(other, &load, insns, NR + 4) >= 0 && !load.jited);
	EQ(load.jited, 1);
	close(other);
}

const struct test native_tests[] = {
	{ "native code", native_code },
	{ "native code, refused", native_code_refused },
	{ "native code, bounded", native_code_bounded },
	{ NULL, NULL },
};
