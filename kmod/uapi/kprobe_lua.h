/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The ABI between the kernel module and user space.
 *
 * One open file of /dev/kprobe-lua is one session.  Everything a session
 * creates (maps, rings, programs, probes) is named by small integers, counted
 * from 0 within its kind, and is gone when the session ends.  Maps and programs
 * can be freed before; a new one takes the lowest number that is free.
 *
 * Structures have fixed-width fields, natural alignment and no padding.
 * "in" fields are read by the kernel, "out" fields are written by it, reserved
 * fields must be zero.  Each ioctl returns 0 or a negative errno:
 *   EPERM   the caller lacks the rights, or the kernel is locked down (then
 *           detaching and reading what was gathered go on working)
 *   EXDEV   the caller is not the process that opened the session
 *   ESHUTDOWN the session's opener has exited
 *   EINVAL  a field or a reserved field is out of its range
 *   EFAULT  a user pointer is bad
 *   E2BIG   a limit below is exceeded
 *   EDQUOT  all sessions together would hold more memory than they may
 *   ENOMEM  the machine, or the opener's cgroup, has not enough memory
 */
#ifndef KPROBE_LUA_UAPI_H
#define KPROBE_LUA_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Two builds fit when both the version and the hash are the same.  The hash is
 * over this folder and the opcodes (abi-hash.sh), so it sees each change of a
 * table, a number or a structure, and needs no care.  KPL_ABI_VERSION grows by
 * one with each release in which the hash is not that of the release before,
 * and with each change of a meaning that no table shows: it tells users which
 * of the two sides is older.  `abi` and `abi_hash` stay where they are in
 * struct kpl_info.
 */
#define KPL_ABI_VERSION		1
#define KPL_DEVICE		"/dev/kprobe-lua"

/* Limits. */
#define KPL_MAX_SESSIONS	1024	/* open at once; one more: EUSERS */
#define KPL_MAX_INSNS		4096	/* of a program, as loaded */
#define KPL_MAX_LABELS		256	/* targets of backward jumps */
#define KPL_MAX_STACK		512	/* bytes below r10 */
#define KPL_MAX_SCRATCH		(64 * 1024)	/* bytes, for each CPU */
#define KPL_MAX_DATA		4096	/* private data of a return instance */
#define KPL_MAX_RECORD		16384	/* fixed part and tail together */
#define KPL_MAX_KEY		1024	/* bytes */
#define KPL_MAX_VALUE		4096	/* bytes */
#define KPL_MAX_ENTRIES		(1u << 20)
#define KPL_MAX_HIST_SLOTS	1024
#define KPL_MAX_MAPS		256
#define KPL_MAX_PROGS		1024
#define KPL_MAX_PROBES		65536	/* attached in a session's life */
#define KPL_MAX_RING		(64u << 20)	/* data bytes for each CPU */
#define KPL_MAX_TARGETS		8	/* addresses that a program goes to */
#define KPL_MAX_ACTIVE		16384	/* return instances of a probe */
#define KPL_DEFAULT_BUDGET	30000	/* fit: kstack(), ustack() and a key of both; 20 strings in a loop */
#define KPL_MAX_BUDGET		1000000
#define KPL_MAX_CROWD		(16 * KPL_MAX_BUDGET)	/* what all handlers at one place may take together */
#define KPL_SEARCH_COST		500	/* for a key, in a map or an aggregation */
#define KPL_USER_COST		200	/* for the first read of user memory in a hit, beside its helper's cost */
#define KPL_MAX_FAULTS		16	/* bad addresses that a handler may meet; then its reads fail at once */
#define KPL_FAULT_COST		2500	/* what each takes beside its helper's cost */

/* ------------------------------------------------------------------ the hit */

/*
 * What r1 points to when a handler starts.  A handler may load the fields that
 * hit.def grants to its kind, at their full width; it may not store.
 */
struct kpl_hit {
	__u64 regs;	/* struct pt_regs at the hit */
	__u64 data;	/* private data of the return instance; what the hit brings */
	__u64 scratch;	/* this CPU's scratch memory */
	__u64 func;	/* address of the probed function, a number */
	__u64 addr;	/* address of the probe, a number */
	__u64 ret;	/* the function's return value */
	__u64 ret_addr;	/* address it returns to */
	__u64 bad_addr;	/* the address that could not be read */
	__u32 status;	/* KPL_STOP_* of the last helper that failed, or 0 */
	__u32 cpu;
};

/* Kinds of programs: which fields of the hit and which helpers they may use. */
enum kpl_prog_kind {
	KPL_PROG_PRE = 0,	/* kprobe, before the instruction */
	KPL_PROG_POST = 1,	/* kprobe, after the instruction */
	KPL_PROG_FAULT = 2,	/* runs instead, when PRE or POST hit a bad address */
	KPL_PROG_ENTRY = 3,	/* kretprobe, at entry */
	KPL_PROG_RET = 4,	/* kretprobe, at return */
	KPL_PROG_TRACEPOINT = 5,	/* data: the arguments, a __u64 each, upper bits as they come */
	KPL_PROG_WATCH = 6,	/* data: two __u64, what was there before the access and after */
	KPL_PROG_KINDS
};

/*
 * A program's result in r0: KPL_RET_DONE, or KPL_RET_SKIP (from ENTRY: no
 * return handler for this call), or KPL_RET_STOP(reason, pc): the handler
 * stopped at instruction `pc` of the program as loaded, for a reason of
 * stops.def.  Anything else counts as KPL_STOP_RESULT.
 */
#define KPL_RET_DONE		0
#define KPL_RET_SKIP		1
#define KPL_RET_STOP(reason, pc)	(((__u32)(pc) << 8) | (__u32)(reason))
#define KPL_RET_REASON(r0)	((__u32)(r0) & 0xff)
#define KPL_RET_PC(r0)		((__u32)(r0) >> 8)

/* Why a handler stopped, and how that is counted.  Values start at 2. */
enum kpl_stop {
	KPL_STOP_FIRST_ = 1,
#define STOP(name, class, text) KPL_STOP_##name,
#include "stops.def"
#undef STOP
	KPL_STOP_END_
};

/* Helper ids: the imm of a BPF_CALL instruction (src = 0). */
enum kpl_helper {
#define HELPER(id, name, ...) KPL_H_##name = id,
#include "helpers.def"
#undef HELPER
	KPL_H_END_
};

/* Why the verifier refused. */
enum kpl_reject {
	KPL_REJECT_NONE = 0,
#define REJECT(name, text) KPL_REJECT_##name,
#include "rejects.def"
#undef REJECT
	KPL_REJECT_END_
};

/* ------------------------------------------------------------------- values */

/*
 * A string value in scratch memory, instance data, keys and map values:
 * 8 bytes of header, then the bytes.  A string of limit L occupies
 * KPL_STR_SIZE(L) bytes; the bytes from `len` to the next multiple of 8 are
 * zero, and in keys and map values all bytes up to the size are.
 */
struct kpl_str {
	__u32 len;	/* bytes, without any terminator */
	__u32 reserved;	/* 0 */
	char bytes[];
};
#define KPL_STR_SIZE(limit)	(8u + (((__u32)(limit) + 7u) & ~7u))
#define KPL_MAX_STR		4095
#define KPL_COMM		16	/* limit of what comm writes: a command's name */
#define KPL_PATH_STEPS		64	/* directories and mounts of a path */

/*
 * Which memory addresses of a process belong to: its id, and what tells apart
 * the programs that it has run, and the processes that had that id: where its
 * code begins, in pages, and of the place of its stack, 7 bits.
 */
#define KPL_SPACE_PID_BITS	22
#define KPL_SPACE_CODE_BITS	35
static inline __u64 kpl_space(__u32 pid, __u64 start_code, __u64 start_stack)
{
	__u32 stack = (__u32)(start_stack >> 4) * 2654435769u;
	__u64 page = start_code >> 12 & ((1ull << KPL_SPACE_CODE_BITS) - 1);

	return pid | page << KPL_SPACE_PID_BITS |
	       (__u64)(stack >> 25) << (KPL_SPACE_PID_BITS + KPL_SPACE_CODE_BITS);
}

/* ----------------------------------------------------------------- programs */

/* What a register may hold.  The verifier's types, and those of labels. */
enum kpl_reg_type {
	KPL_T_NONE = 0,		/* unknown: may not be read */
	KPL_T_NUM = 1,		/* a number */
	KPL_T_HIT = 2,		/* struct kpl_hit */
	KPL_T_REGS = 3,		/* struct pt_regs */
	KPL_T_SCRATCH = 4,	/* this CPU's scratch memory */
	KPL_T_DATA = 5,		/* private data of the return instance */
	KPL_T_REC = 6,		/* the pending ring record: write only */
	KPL_T_REC_OR_NULL = 7,	/* the same, not yet tested */
	KPL_T_STACK = 8,	/* r10 and what is derived from it */
	KPL_T_MAP = 9,		/* a map: an operand of helpers only */
	KPL_T_END_
};

/*
 * The declared state at the target of backward jumps (a stack map).  Each edge
 * that reaches the instruction must satisfy it: a declared NONE accepts
 * anything, any other type must be the same with the same offset.
 * Pointers carry their constant offset, maps their id in `off`.
 */
struct kpl_label {
	__u32 pc;		/* in instructions */
	__u8 type[9];		/* KPL_T_* of r0 to r8 */
	__u8 rec_pending;	/* 1: a record is reserved and tested */
	__u16 rec_size;		/* its fixed size, when pending */
	__u64 stack;		/* bit i: the 8 bytes at r10 - 8 * (i + 1) are written */
	__s32 off[9];
	__u32 reserved;
};

/*
 * KPL_IOC_PROG_LOAD.  `insns` is an array of struct bpf_insn, in the profile
 * that docs/bytecode.md describes.  A load of a map is BPF_LD|BPF_IMM|BPF_DW
 * with src_reg = 1 and imm = the map's id.
 */
struct kpl_prog_load {
	__u64 insns;		/* in */
	__u64 labels;		/* in: array of struct kpl_label, ascending pc */
	__u32 nr_insns;		/* in: 8-byte slots */
	__u32 nr_labels;	/* in */
	__u32 kind;		/* in: enum kpl_prog_kind */
	__u32 data_size;	/* in: bytes of instance data, a multiple of 8 */
	__u32 scratch_size;	/* in: bytes, a multiple of 8 */
	__u32 budget;		/* in: 0 is the default */
	__u32 flags;		/* in: KPL_PROG_F_* */
	__u32 id;		/* out */
	__u32 cost;		/* out: proven cost without loops' repetitions */
	__u32 jited;		/* out: 1 native code, 0 interpreted */
	__u32 reject;		/* out: enum kpl_reject, when EACCES is returned */
	__u32 reject_pc;	/* out */
	__u32 native_len;	/* out: bytes of native code, 0 if interpreted */
	__u32 reserved;
};
#define KPL_PROG_F_INTERPRET	1u	/* never native code: for tests */
#define KPL_PROG_F_PLACES	2u	/* remember where in the native code each instruction begins */

/*
 * KPL_IOC_PROG_RUN: runs a loaded program on prepared input, on this CPU, under
 * the same guard as a hit.  For tests and dry runs.  All of `repeat` runs work
 * on the same data; EINTR after a signal.  EUCLEAN: the program wrote next to
 * its data, which is a bug of verifier or JIT.
 */
struct kpl_prog_run {
	__u32 id;		/* in */
	__u32 repeat;		/* in: runs, up to KPL_MAX_REPEAT; 0 is 1 */
	__u64 regs;		/* in: user pointer to regs_size bytes of struct pt_regs */
	__u32 regs_size;	/* in: at most sizeof(struct pt_regs) */
	__u32 data_size;	/* in: at most the program's */
	__u64 data;		/* in, out: user pointer to instance data */
	__u64 hit;		/* in: user pointer to struct kpl_hit; pointers in it are ignored */
	__u64 result;		/* out: r0, of the last run */
	__u64 bad_addr;		/* out */
	__u64 duration;		/* out: ns, of all runs */
};
#define KPL_MAX_REPEAT		1000000

/*
 * One place where a program has stopped.  KPL_IOC_PROG_SITES copies up to `nr`
 * of them, those with a count, ascending by pc.
 */
struct kpl_site {
	__u32 pc;
	__u32 reason;		/* enum kpl_stop */
	__u64 count;
	__u64 bad_addr;		/* of the first stop here */
	__u64 first;		/* time of the first stop, CLOCK_MONOTONIC ns */
};

struct kpl_prog_sites {
	__u32 id;		/* in */
	__u32 nr;		/* in: room; out: copied */
	__u64 sites;		/* in: user pointer */
};

/*
 * KPL_IOC_PROG_NATIVE: a copy of a program's native code, which holds addresses
 * of the kernel: CAP_SYS_ADMIN.  ENODATA: the starts are wanted and were not kept.
 */
struct kpl_prog_native {
	__u32 id;		/* in */
	__u32 size;		/* in: bytes of room; out: bytes of native code, 0 if interpreted */
	__u64 code;		/* in: user pointer; what has no room is left out */
	__u64 starts;		/* in: 0, or user pointer to nr_starts __u32: offset of each instruction */
	__u32 nr_starts;	/* in: 0, or the program's nr_insns */
	__u32 reserved;
	__u64 addr;		/* out: of the native code */
};

/* --------------------------------------------------------------------- maps */

/* Kinds of maps.  Those of aggs.def are aggregations: per-CPU, merged by the reader. */
enum kpl_map_kind {
#define AGG(id, name, holds, slots, shows) KPL_MAP_##id,
#include "aggs.def"
#undef AGG
	KPL_MAP_HASH,	/* shared: values set, read and deleted */
	KPL_MAP_KINDS
};

/* The words of an aggregation's value, u64 or s64, those that it holds one after the other. */
#define KPL_AGG_N	1u
#define KPL_AGG_SUM	2u
#define KPL_AGG_MIN	4u
#define KPL_AGG_MAX	8u

/*
 * KPL_IOC_MAP_CREATE.  An aggregation without a key has key_size 0 and one
 * cell for each CPU.
 *
 * The mapping of an aggregation (read-only, at mmap_off of the session's file)
 * is nr_cpus times nr_banks areas of `bank_size` bytes; the area of CPU c and
 * bank b starts at (c * nr_banks + b) * bank_size.  An area is a struct
 * kpl_agg_bank and `nr_cells` cells of `cell_size` bytes.  An area has memory
 * from when its CPU is up for the first time; before, it reads as zeros.
 */
struct kpl_map_create {
	__u32 kind;		/* in: enum kpl_map_kind */
	__u32 key_size;		/* in: bytes, a multiple of 8; 0: no key */
	__u32 value_size;	/* in: HASH: bytes, a multiple of 8; else 0. out: bytes */
	__u32 max_entries;	/* in: 0 is the default, 4096; for each CPU */
	__s64 lo, hi, step;	/* in: LHIST; else 0 */
	__u32 id;		/* out */
	__u32 nr_cells;		/* out */
	__u32 cell_size;	/* out */
	__u32 nr_banks;		/* out */
	__u64 bank_size;	/* out */
	__u64 mmap_off;		/* out */
	__u64 mmap_size;	/* out */
	/*
	 * in: which word of the key, counted from 1, heads a struct kpl_str
	 * that ends it; 0: there is none.  What stands behind that string in
	 * its field tells no keys apart, and is 0 in those that are kept.
	 */
	__u32 key_string;
	__u32 reserved;		/* 0 */
};

/* Leads each bank of an aggregation. */
struct kpl_agg_bank {
	__u64 used;		/* cells in use */
	__u64 lost;		/* updates refused because the bank was full */
	__u64 epoch;		/* grows with each clear */
	__u64 reserved[5];
};

/*
 * Leads each cell: then key_size bytes of key, then the value.  `seq` is odd
 * while the value is written; `hash` is 0 in an empty cell and is stored after
 * the key.  An unkeyed aggregation's only cell is always in use (hash 1).
 */
struct kpl_agg_cell {
	__u32 seq;
	__u32 hash;
};

/*
 * KPL_IOC_MAP_CLEAR empties an aggregation: new updates go to the other bank,
 * and after a grace period `bank` is no longer written: the reader merges it
 * (it holds all updates since the last clear), and it is emptied by the next
 * clear.  The bank that is written now is returned in `active`.
 */
struct kpl_map_clear {
	__u32 id;		/* in */
	__u32 bank;		/* out */
	__u32 active;		/* out */
	__u32 reserved;
};

/* KPL_IOC_MAP_INFO */
struct kpl_map_info {
	__u32 id;		/* in */
	__u32 active;		/* out: AGG: bank written now */
	__u64 memory;		/* out: bytes held */
	__u64 entries;		/* out: HASH: keys in it */
	__u64 lost;		/* out: updates refused: HASH: it was full; AGG: on CPUs that got no memory */
	__u64 busy;		/* out: HASH: accesses given up because a bucket stayed locked */
};

/* KPL_IOC_MAP_OP: user space's access to a KPL_MAP_HASH. */
enum kpl_map_op_kind {
	KPL_MAP_GET = 0,	/* ENOENT if there is none */
	KPL_MAP_SET = 1,	/* ENOSPC if full */
	KPL_MAP_DELETE = 2,
	KPL_MAP_NEXT = 3,	/* cursor in, out; ENOENT at the end; key and value out */
};

struct kpl_map_op {
	__u32 id;		/* in */
	__u32 op;		/* in */
	__u64 key;		/* user pointer, key_size bytes */
	__u64 value;		/* user pointer, value_size bytes */
	__u64 cursor;		/* in, out: for NEXT; 0 starts */
};

/*
 * KPL_IOC_FREE: frees a map that no program uses, or a program that no attached
 * probe runs, else EBUSY.  Mappings of a map stay readable, and change no more.
 */
enum kpl_free_kind {
	KPL_FREE_MAP = 0,
	KPL_FREE_PROG = 1,
};

struct kpl_free {
	__u32 kind;		/* in: enum kpl_free_kind */
	__u32 id;		/* in */
};

/* -------------------------------------------------------------------- rings */

/*
 * KPL_IOC_RING_SETUP: once for each session, before programs that emit are
 * loaded.  One ring for each possible CPU, with memory from when the CPU is up
 * for the first time.  CPU c's ring has two mappings of the session's file:
 *   at ctl_off + c * ctl_stride, one page, read-write: struct kpl_ring_ctl;
 *   at data_off + c * data_stride, page_size + 2 * size bytes, read-only:
 *   one page with struct kpl_ring_head, then the data twice in a row, so that
 *   a record that wraps is contiguous.
 * Without memory, the second reads as zeros, and touching the first is SIGBUS:
 * leave it alone until the head's `size` is not 0.  With wake_at 0, as it begins,
 * the first record wakes.  What would wake the process again within 100
 * microseconds does so after them.
 */
struct kpl_ring_setup {
	__u32 size;		/* in: data bytes for each CPU, a power of two, >= the page size */
	__u32 nr_cpus;		/* out: possible CPUs, rings */
	__u64 ctl_off;		/* out */
	__u64 ctl_stride;	/* out */
	__u64 data_off;		/* out */
	__u64 data_stride;	/* out */
};

/*
 * KPL_IOC_RING_SPARE: makes another ring, of no CPU, which stays empty until
 * KPL_IOC_RING_OFFER.  Maps as the others do, from offset 0 of each.  The
 * caller sleeps; handlers notice nothing.
 *   EINVAL  `size` is no power of two larger than what KPL_IOC_RING_SETUP made
 *   ENXIO   there are no rings
 *   E2BIG   over KPL_MAX_RING, or KPL_MAX_SPARES of the session
 *   EINTR   the caller is being killed
 *   EDQUOT, ENOMEM  as above; the rings that there are go on
 */
#define KPL_MAX_SPARES		8192

struct kpl_ring_spare {
	__u32 size;		/* in: data bytes */
	__u32 nr;		/* out: for KPL_IOC_RING_OFFER */
	__u64 ctl_off;		/* out */
	__u64 data_off;		/* out */
	__u64 reserved;		/* 0 */
};

/*
 * KPL_IOC_RING_OFFER: the first CPU whose ring is full and smaller takes this
 * one, at the hit: the record that found no room is in it, and all that this
 * CPU begins from then on.  The CPU's rings before stay as they are until the
 * session's end: each with its records, its counts and its sequence, all of
 * them older than those of the next.  Of several, the last is taken first.  Map
 * a ring first: what it holds is counted nowhere else.
 *   EINVAL  no such ring, or it was offered before
 */
struct kpl_ring_offer {
	__u32 nr;		/* in: of KPL_IOC_RING_SPARE */
	__u32 reserved;		/* 0 */
};

/* Written by the consumer, read once for each record by the producer. */
struct kpl_ring_ctl {
	__u64 tail;		/* position consumed up to; grows, never wraps */
	__u64 wake_at;		/* wake the sleeper when head reaches this position */
};

/*
 * Written by the producer, read by the consumer.  Positions are byte counts
 * that grow and never wrap; index = position & (size - 1).
 */
struct kpl_ring_head {
	__u64 head;		/* records below are complete (release) */
	__u64 reserved_head;	/* != head while a record is being written */
	__u64 sent;		/* records attempted: complete + lost */
	__u64 lost;		/* records refused because the ring was full */
	__u64 size;		/* of the ring's data; 0: it has no memory yet */
	__u32 cpu;		/* whose records these are; KPL_NO_CPU: a spare */
	__u32 reserved;
};
#define KPL_NO_CPU		0xffffffffu

/*
 * A record: header, then the fixed part (`fixed` bytes) that the program
 * stores, then the tail: strings appended one after the other, each padded to
 * a multiple of 8.  A string field in the fixed part is a struct kpl_rec_str.
 */
struct kpl_rec {
	__u32 len;		/* bytes with header and tail, a multiple of 8 */
	__u32 event;		/* the number given to rec_begin */
	__u64 seq;		/* counts `sent` of this ring, from 0: gaps are losses */
	__u64 time;		/* CLOCK_MONOTONIC, ns, taken at rec_begin */
};

struct kpl_rec_str {
	__u32 off;		/* from the start of the record; 0: absent (nil) */
	__u32 len;		/* bytes */
};

/* ------------------------------------------------------------------- probes */

enum kpl_probe_kind {
	KPL_PROBE_KPROBE = 0,
	KPL_PROBE_KRETPROBE = 1,
	KPL_PROBE_FTRACE = 2,
	KPL_PROBE_DIRECT = 3,	/* a return probe, by direct calls of a stub */
	KPL_PROBE_TRACEPOINT = 4,
	KPL_PROBE_EVENT = 5,	/* PRE: a clock or a counter */
	KPL_PROBE_WATCH = 6,	/* data is written, or accessed */
	KPL_PROBE_UPROBE = 7,	/* PRE: in a file that processes map */
	KPL_PROBE_URETPROBE = 8,	/* and the return from there */
#ifdef KPL_TEST_ROWS
	KPL_PROBE_TEST,
#endif
	KPL_PROBE_KINDS
};

#define KPL_NO_PROG	0xffffffffu

/* What `when` filters on; a hit that fails is counted as skipped. */
#define KPL_WHEN_PID	1u
#define KPL_WHEN_TID	2u
#define KPL_WHEN_COMM	4u
#define KPL_WHEN_CPU	8u
#define KPL_WHEN_CGROUP	16u
#define KPL_WHEN_OTHERS	32u	/* not the process that opened the session */

struct kpl_when {
	__u32 mask;		/* KPL_WHEN_* */
	__u32 pid;		/* initial namespace */
	__u32 tid;
	__u32 cpu;
	__u64 cgroup;
	char comm[16];		/* zero padded */
};

/* What EVENT and WATCH hit at. */
enum kpl_event {
	KPL_EVENT_NONE = 0,	/* other kinds */
	KPL_EVENT_PROFILE = 1,	/* `period` times a second on each CPU, up to KPL_MAX_HZ */
	KPL_EVENT_INTERVAL = 2,	/* each `period` ns on one CPU, KPL_MIN_INTERVAL at least */
	KPL_EVENT_SOFTWARE = 3,	/* each `period`-th PERF_COUNT_SW_* of a CPU: `addr`; of clocks as INTERVAL */
	KPL_EVENT_HARDWARE = 4,	/* of PERF_COUNT_HW_* */
	KPL_EVENT_WRITE = 5,	/* WATCH: the `len` bytes at `addr` are written */
	KPL_EVENT_ACCESS = 6,	/* or read */
	KPL_EVENTS
};
#define KPL_MAX_HZ		10000
#define KPL_MIN_INTERVAL	100000
#define KPL_MAX_TICKS		100000	/* a second on a CPU, of all sessions' clocks together */

/* One element of KPL_IOC_ATTACH. */
struct kpl_attach {
	__u64 addr;		/* in: of the instruction; TRACEPOINT: of its bpf_raw_event_map; UPROBE: in the file */
	__u64 func;		/* in: what the hit's `func` shows */
	__u32 kind;		/* in: enum kpl_probe_kind; out: what it has become */
	__u32 flags;		/* in: KPL_ATTACH_F_* */
	/*
	 * in: KRETPROBE, DIRECT, URETPROBE: entry, ret, none; TRACEPOINT, EVENT, WATCH, UPROBE: one;
	 * others: pre, post, fault; or KPL_NO_PROG
	 */
	__u32 prog[3];
	__u32 maxactive;	/* in: KRETPROBE, URETPROBE: 0 is the default */
	struct kpl_when when;	/* in */
	__u64 period;		/* in: EVENT; else 0 */
	__u32 event;		/* in: enum kpl_event */
	__u32 len;		/* in: WATCH: 1, 2, 4 or 8; else 0 */
	__u64 semaphore;	/* in: UPROBE, URETPROBE: in the file, of the 16 bits that count who looks; or 0 */
	__u32 fd;		/* in: UPROBE, URETPROBE: the file, open for reading; else 0 */
	__u32 stack_args;	/* in: DIRECT: words of arguments that the caller puts on the stack */
	__u32 why;		/* out: enum kpl_why: not by direct calls; what came in stays */
	__u32 line;		/* in: of the script, for the kernel's log; or 0 */
	__u32 id;		/* out */
	__s32 error;		/* out: 0 or the negative errno of this element */
};
#define KPL_ATTACH_F_DISABLED	1u	/* registered, not armed */
#define KPL_ATTACH_F_OPTIONAL	2u	/* its failure fails nothing else */
#define KPL_ATTACH_F_ELSE_KPROBE	4u	/* FTRACE: a kprobe where ftrace has no site; DIRECT: a KRETPROBE */
#define KPL_ATTACH_F_ENTRY	8u	/* UPROBE, URETPROBE: a function begins there */

/* Why a return probe can't be by direct calls.  Without ELSE_KPROBE, EOPNOTSUPP. */
enum kpl_why {
	KPL_WHY_NONE = 0,
#define WHY(name, text) KPL_WHY_##name,
#include "whys.def"
#undef WHY
	KPL_WHY_END_
};

/*
 * KPL_IOC_ATTACH: registers all elements or, when one that is not optional
 * fails, none; then ECANCELED is returned and each `error` says what happened
 * (-ECANCELED: this one was fine).  ENODEV: kprobes are switched off in the whole
 * system, and this one would stay off when they are switched on again.
 */
struct kpl_attach_batch {
	__u64 probes;		/* in: user pointer to nr struct kpl_attach */
	__u32 nr;		/* in */
	__u32 failed;		/* out: how many have an error of their own */
};

/*
 * KPL_IOC_CONTROL: one operation on several probes.  ENABLE may fail as attaching
 * them does; with EPERM for what changes something, and for direct calls, where
 * the caller may not do so now.
 */
enum kpl_control_op {
	KPL_CTL_DISABLE = 0,
	KPL_CTL_ENABLE = 1,
	KPL_CTL_DETACH = 2,	/* returns when no handler of them runs any more */
};

struct kpl_control {
	__u64 ids;		/* in: user pointer to nr __u32 */
	__u32 nr;		/* in */
	__u32 op;		/* in */
};

/* State of a probe as the kernel has it. */
enum kpl_probe_state {
	KPL_STATE_INT3 = 0,
	KPL_STATE_OPTIMIZED = 1,
	KPL_STATE_FTRACE = 2,
	KPL_STATE_DISABLED = 3,
	KPL_STATE_GONE = 4,
	KPL_STATE_DETACHED = 5,
	KPL_STATE_OVERLOAD = 6,	/* disabled: it took too much of a CPU; ENABLE gives it a new start */
	KPL_STATE_DIRECT = 7,
	KPL_STATE_ARMED = 8,	/* of kinds that have one way only */
};

/* Sums over CPUs.  hits = handled + faults + errors + overruns + skipped + missed. */
struct kpl_counts {
	__u64 hits;
	__u64 handled;
	__u64 skipped;		/* refused by `when`, or a return after exit() */
	__u64 missed;
	__u64 faults;
	__u64 errors;
	__u64 overruns;
};

struct kpl_probe_stats {
	__u32 id;		/* in */
	__u32 state;		/* out: enum kpl_probe_state */
	struct kpl_counts entry;	/* out: the pre handler, or KRETPROBE's entry */
	struct kpl_counts ret;		/* out: the post handler, or KRETPROBE's return */
	__u64 outstanding;	/* out: KRETPROBE: calls whose return is still to come */
	__u64 dropped;		/* out: KRETPROBE: instances given up because entry stopped */
	__u64 declined;		/* out: KRETPROBE: entry returned KPL_RET_SKIP (handled, too) */
	__u64 truncated;	/* out: strings cut at their limit */
	__u32 overload_cpu;	/* out: OVERLOAD: which CPU */
	__u32 overload_percent;	/* out: OVERLOAD: what this probe's handlers took of it */
	__u64 moved;		/* out: hits after which the function did not go on: override, go_to */
};

/* KPL_IOC_STATS */
struct kpl_stats {
	__u64 stats;		/* in: user pointer to nr struct kpl_probe_stats */
	__u32 nr;		/* in */
	__u32 reserved;
};

/* ------------------------------------------------------------------ session */

/*
 * KPL_IOC_RIGHTS: opens the session for programs that change what runs.  It
 * takes CAP_SYS_ADMIN, as their loading and attaching does then.  EACCES: an
 * administrator has forbidden it (the module's parameter `changes`).
 * EOPNOTSUPP: not on this machine.
 */
struct kpl_rights {
	__u32 rights;		/* in: KPL_RIGHT_* to have beside those that there are */
	__u32 reserved;
};
#define KPL_RIGHT_INJECT	1u	/* override() at functions of inject.def, with values of their kind */
#define KPL_RIGHT_CHANGE	2u	/* any: registers, return values, where execution goes on */

/* What a function that is marked for error injection may return; inject.def. */
enum kpl_returns {
	KPL_RETURNS_ANY = 0,	/* it is not marked */
	KPL_RETURNS_NULL = 1,
	KPL_RETURNS_ERRNO = 2,	/* -4095 to -1 */
	KPL_RETURNS_ERRNO_NULL = 3,	/* these, or 0 */
	KPL_RETURNS_TRUE = 4,
};

/* KPL_IOC_PID: the number in the initial namespace, which `when` takes; ESRCH: no such process. */
struct kpl_pid {
	__u32 pid;		/* in: of a process, in the caller's namespace; out */
	__u32 reserved;
};

/*
 * KPL_IOC_SHARE: what handlers may take of each CPU, over a second.  Past it
 * the costliest probe is disabled (KPL_STATE_OVERLOAD).  Against a session's
 * share counts what is taken by all sessions whose share is no larger.
 */
struct kpl_share {
	__u32 percent;		/* in: 1 to 100; KPL_SHARE_OFF: no bound, and counts for nobody */
	__u32 reserved;
};
#define KPL_DEFAULT_SHARE	25
#define KPL_SHARE_OFF		100

/*
 * KPL_IOC_TITLE: what the kernel's log calls the session, from the next line on;
 * without it, as the opener.  With a dead man's time, everything is detached
 * for good when the opener makes no call at all for so long (ESHUTDOWN from
 * KPL_IOC_ATTACH).
 */
#define KPL_TITLE_SIZE		64
#define KPL_MAX_DEAD_MAN	86400
struct kpl_title {
	char name[KPL_TITLE_SIZE];	/* in: ends with NUL; what is not printable becomes '?' */
	__u32 dead_man;		/* in: seconds, up to KPL_MAX_DEAD_MAN; 0: for ever */
	__u32 reserved;
};

/*
 * KPL_IOC_BENCH: calls one of the module's functions that are there to be
 * probed, kpl_bench_NAME(), so many times.  Nothing else calls them.  EINTR: a
 * signal came before the end.
 */
enum kpl_bench_function {
	KPL_BENCH_STEPPED = 0,	/* x86: a kprobe on its first instruction is single-stepped */
	KPL_BENCH_BOOSTED = 1,	/* x86: is boosted, and can't be optimized */
	KPL_BENCH_OPTIMIZED = 2,	/* x86: can be optimized */
	KPL_BENCH_TRACED = 3,	/* ftrace can trace it */
	KPL_BENCH_STORES = 4,	/* writes kpl_bench_stored, 8 bytes */
	KPL_BENCH_FUNCTIONS
};
#define KPL_MAX_BENCH		(1u << 24)	/* calls at once */

struct kpl_bench {
	__u32 function;		/* in: enum kpl_bench_function */
	__u32 calls;		/* in: 1 to KPL_MAX_BENCH */
	__u64 ns;		/* out: what they took */
};

/* KPL_IOC_INFO: always allowed on an open file. */
struct kpl_info {
	__u32 abi;		/* out: KPL_ABI_VERSION of the module */
	__u32 nr_cpus;		/* out: possible CPUs */
	__u64 features;		/* out: KPL_FEATURE_* */
	__u64 abi_hash;		/* out: of the sources that the module was built from */
	__u32 exiting;		/* out: 1 after a handler called exit() */
	__s32 exit_code;	/* out */
	__u64 stops;		/* out: handlers stopped so far: when it grows, read the sites */
	__u64 memory;		/* out: bytes held by this session */
	__u64 memory_all;	/* out: bytes held by all sessions */
	__u64 memory_limit;	/* out: bytes that all sessions may hold together */
	__u32 work_done;	/* out: steps of the attach call under way, or of the last */
	__u32 work_total;
	__u32 overloads;	/* out: probes that took too much so far: when it grows, read the states */
	__u32 dead;		/* out: 1: all is detached after the dead man's time, nothing more is attached */
	__u64 hits_about;	/* out: hits that a handler ran at, estimated from one of some hundreds */
	__u64 hits_own;		/* out: those of the process that opened the session, likewise */
	__u64 lost_without;	/* out: records lost on CPUs whose rings got no memory: no head counts them */
	__u64 refused;		/* out: what was refused to others while sessions had it to themselves */
};
#define KPL_FEATURE_JIT		1ull
#define KPL_FEATURE_KRETPROBE	2ull
#define KPL_FEATURE_FTRACE	4ull
#define KPL_FEATURE_DIRECT	8ull
#define KPL_FEATURE_CHANGE	16ull

#define KPL_IOC_INFO		_IOR('K', 0x00, struct kpl_info)
#define KPL_IOC_RING_SETUP	_IOWR('K', 0x01, struct kpl_ring_setup)
#define KPL_IOC_MAP_CREATE	_IOWR('K', 0x02, struct kpl_map_create)
#define KPL_IOC_MAP_CLEAR	_IOWR('K', 0x03, struct kpl_map_clear)
#define KPL_IOC_MAP_INFO	_IOWR('K', 0x04, struct kpl_map_info)
#define KPL_IOC_MAP_OP		_IOWR('K', 0x05, struct kpl_map_op)
#define KPL_IOC_PROG_LOAD	_IOWR('K', 0x06, struct kpl_prog_load)
#define KPL_IOC_PROG_RUN	_IOWR('K', 0x07, struct kpl_prog_run)
#define KPL_IOC_PROG_SITES	_IOWR('K', 0x08, struct kpl_prog_sites)
#define KPL_IOC_ATTACH		_IOWR('K', 0x09, struct kpl_attach_batch)
#define KPL_IOC_CONTROL		_IOW('K', 0x0a, struct kpl_control)
#define KPL_IOC_STATS		_IOW('K', 0x0b, struct kpl_stats)
#define KPL_IOC_PID		_IOWR('K', 0x0c, struct kpl_pid)
#define KPL_IOC_PROG_NATIVE	_IOWR('K', 0x0d, struct kpl_prog_native)
#define KPL_IOC_FREE		_IOW('K', 0x0e, struct kpl_free)
#define KPL_IOC_SHARE		_IOW('K', 0x0f, struct kpl_share)
#define KPL_IOC_TITLE		_IOW('K', 0x10, struct kpl_title)
#define KPL_IOC_RIGHTS		_IOW('K', 0x11, struct kpl_rights)
#define KPL_IOC_BENCH		_IOWR('K', 0x12, struct kpl_bench)
#define KPL_IOC_RING_SPARE	_IOWR('K', 0x13, struct kpl_ring_spare)
#define KPL_IOC_RING_OFFER	_IOW('K', 0x14, struct kpl_ring_offer)

/*
 * poll() on the session's file: POLLIN when a ring passed its wake_at, a
 * handler stopped, a probe took too much of a CPU, or a handler called exit();
 * the condition is cleared by reading (KPL_IOC_INFO, or advancing tail or
 * wake_at).  POLLHUP after the opener has exited.
 */
#endif
