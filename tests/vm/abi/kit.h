/* SPDX-License-Identifier: MIT */
/*
 * What the ABI's tests share: raw ioctls, a few instructions to write programs
 * with, and checks that count.
 */
#ifndef ABI_KIT_H
#define ABI_KIT_H

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "kprobe_lua.h"

/* ------------------------------------------------------------------- checks */

extern int checks_failed;
extern const char *test_name;

/* Both sides are printed when they differ. */
#define EQ(a, b)									\
	do {										\
		long long a_ = (long long)(a), b_ = (long long)(b);			\
		if (a_ != b_) {								\
			checks_failed++;						\
			printf("%s: %s:%d: %s is %lld, not %s (%lld)\n", test_name,	\
			       __FILE__, __LINE__, #a, a_, #b, b_);			\
		}									\
	} while (0)
#define OK(condition) EQ(!!(condition), 1)
/* The call must fail with this errno. */
#define FAILS(error, call)								\
	do {										\
		errno = 0;								\
		EQ((call) < 0 ? errno : 0, error);					\
	} while (0)

/* --------------------------------------------------------------- instructions */

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define MOV(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOVI(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADDI(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define SUB(d, s)	INSN(BPF_ALU64 | BPF_SUB | BPF_X, d, s, 0, 0)
#define LD(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define LDW(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define ST(d, o, s)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STI(d, o, i)	INSN(BPF_ST | BPF_MEM | BPF_DW, d, 0, o, i)
#define MAP(d, id)	INSN(BPF_LD | BPF_IMM | BPF_DW, d, 1, 0, id), INSN(0, 0, 0, 0, 0)
#define IMM64(d, v)	INSN(BPF_LD | BPF_IMM | BPF_DW, d, 0, 0, (uint32_t)(v)), \
			INSN(0, 0, 0, 0, (uint64_t)(v) >> 32)
#define CALL(h)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, KPL_H_##h)
#define JEQI(d, i, o)	INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define JNEI(d, i, o)	INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define JSLTI(d, i, o)	INSN(BPF_JMP | BPF_JSLT | BPF_K, d, 0, o, i)
#define JA(o)		INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define EXIT		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define RETURN(i)	MOVI(0, i), EXIT
#define HIT(field)	offsetof(struct kpl_hit, field)
#define PROG(...)	(struct bpf_insn[]){ __VA_ARGS__ }, \
			sizeof((struct bpf_insn[]){ __VA_ARGS__ }) / sizeof(struct bpf_insn)

/* Waits, for as long as the slowest machine may take, without a sleep that would be a hit of a probe on sleeping. */
#define WAIT(condition)									\
	do {										\
		time_t until_ = time(NULL) + 120;					\
		while (!(condition) && time(NULL) < until_)				\
			sched_yield();							\
		OK(condition);								\
	} while (0)

/* ---------------------------------------------------------------------- calls */

int session(void);
unsigned map_create(int fd, struct kpl_map_create *create);
unsigned map_simple(int fd, unsigned kind, unsigned key_size);

/* Loads with the fields of `load` that are not 0; the id, or -1 with errno. */
int load_with(int fd, struct kpl_prog_load *load, const struct bpf_insn *insns, unsigned nr);
int load(int fd, unsigned kind, const struct bpf_insn *insns, unsigned nr);

struct kpl_attach probe_at(const char *symbol, unsigned kind, int first, int second);
int attach(int fd, struct kpl_attach *list, unsigned nr);
/* Attaches one, which must succeed; its id. */
unsigned attach_one(int fd, struct kpl_attach probe);
/* Attaches one, which must fail; its errno. */
int attach_error(int fd, struct kpl_attach probe);
int control(int fd, unsigned op, unsigned id);
struct kpl_probe_stats stats(int fd, unsigned id);
struct kpl_info info(int fd);
/* hits adds up, on both sides. */
void adds_up(const struct kpl_probe_stats *stats);
/* One run without input; the result. */
uint64_t run(int fd, unsigned prog);

/* getpriority, which nobody else calls: n times, or n times on each of two CPUs at once. */
#define CALLED	"__x64_sys_getpriority"
void call(unsigned n);
void call_on_both(unsigned n);
void stay_on(int cpu);

uint64_t symbol(const char *name);	/* from /proc/kallsyms; 0: none */
/* The process waits in a system call. */
int asleep(int pid);
/* It waits for something of the kernel's, half a second long. */
int held_up(int pid);
/* Lines of debugfs' list of kprobes. */
int kprobes_listed(void);

/* The value of an unkeyed aggregation of one word, over all CPUs. */
uint64_t agg_total(int fd, const struct kpl_map_create *map, unsigned bank);

/* The process has these capabilities from now on, and no others: bits by CAP_*. */
void set_caps(uint64_t caps);
/* It is this user's, with these capabilities alone. */
void be_user(unsigned user, uint64_t caps);
/* Runs in a child; its checks count through the exit status. */
void in_child(void (*body)(int fd), int fd);

/* The file that the environment names; one that is loaded stays. */
void load_module(const char *which, const char *parameters);
/* A parameter of kpl_target, set if `set` is not NULL, or its first character. */
char of_target(const char *parameter, const char *set);

int locked_down(void);

/* One that all tests are for, in full: lib.sh's `lacks`. */
int debians_kernel(void);

/* --------------------------------------------------------------------- ways */

/*
 * A program of 64 bits, its calls by int 0x80, a program of 32 bits: each takes the words of steps.h, about a descriptor
 * that is not -1, in a process of its own.
 */
#ifdef __x86_64__
#define CALL_WAYS	3
#else
#define CALL_WAYS	1
#endif
int has_32_bits(void);	/* the kernel takes such calls; Debian's must */
void each_way(int fd, const char *words);
pid_t by_way(int way, int fd, const char *words);	/* begins; 0: not on this kernel */
void way_ended(int way, pid_t child, const char *words);

/* Of this process: each call and a mapping fail with this errno; those that go on in a locked-down kernel only if `all`. */
void calls_fail(int fd, int error, int all);

/* -------------------------------------------------------------------- groups */

struct test {
	const char *name;
	void (*run)(void);
};

extern const struct test session_tests[], rights_tests[], probe_tests[], source_tests[], trace_tests[], share_tests[], data_tests[], helper_tests[],
	native_tests[], free_tests[], together_tests[], direct_tests[], change_tests[], cpu_tests[];

#endif
