/* SPDX-License-Identifier: MIT */
/*
 * storm SECONDS SEED: processes of several threads call the module as nobody should, all at once: each call with arguments
 * that are mostly right, on sessions that they share, that other threads are closing, that were opened by a parent who is
 * gone; they scribble over what they may write of the rings, and are killed at any moment.  Prints how many of each call
 * succeeded, and exits with 1 if what everything needs never did.  What the kernel makes of it is for the console, and for
 * whoever looks at what is left.
 */
#define _GNU_SOURCE
#include <asm/ptrace.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/abi/kit.h"

enum { WORKERS = 3, THREADS = 3, SESSIONS = 4, PROGS = 24, MAPS = 8, PROBES = 64, AREAS = 16 };

/* What a thread believes of a session that all share: never exact. */
struct session {
	volatile int fd;
	volatile unsigned nr_progs, nr_maps, nr_probes;
	volatile unsigned char prog_kind[PROGS];
	volatile unsigned long map_off[MAPS], map_size[MAPS];
	struct kpl_ring_setup rings;
	struct area {
		void *volatile at;
		volatile unsigned long size;
		volatile bool writable;
	} area[AREAS];
};
static struct session sessions[SESSIONS];
static int self; /* this program, open */

struct symbol {
	uint64_t addr;
	char type;
	bool tracepoint, call; /* a system call's: no argument of it is on the stack */
};
static struct symbol *symbols;
static unsigned nr_symbols;

#define EACH_CALL(X)											\
	X(OPEN) X(CLOSE) X(MMAP) X(MUNMAP) X(POLL) X(INFO) X(RING_SETUP) X(MAP_CREATE) X(MAP_CLEAR) X(MAP_INFO) X(MAP_OP)	\
	X(PROG_LOAD) X(PROG_RUN) X(PROG_SITES) X(ATTACH) X(CONTROL) X(STATS) X(PID) X(PROG_NATIVE) X(FREE) X(SHARE) X(TITLE)	\
	X(RIGHTS) X(BENCH) X(RING_SPARE) X(RING_OFFER) X(ANYTHING)
#define NUMBER(name)	DID_##name,
#define NAME(name)	#name,
enum call { EACH_CALL(NUMBER) CALLS };
static const char *const calls[] = { EACH_CALL(NAME) };
static struct shared {
	unsigned long tried[CALLS], done[CALLS], attached[KPL_PROBE_KINDS], hits;
} *shared;

/* ------------------------------------------------------------------- chance */

static _Thread_local uint64_t state;

static uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}
static unsigned below(unsigned n) { return (random64() >> 32) % n; }
static bool one_in(unsigned n) { return !below(n); }
static uint64_t odd_number(void)
{
	static const uint64_t odd[] = { 0, 1, 7, 8, 4095, 4096, 65536, 1u << 20, ~0u, ~0ull, 1ull << 63, 0xffff800000000000, 1u << 31 };

	return one_in(3) ? random64() : odd[below(sizeof(odd) / sizeof(odd[0]))];
}

static const struct symbol *any_symbol(void) { return &symbols[below(nr_symbols)]; }

static const struct symbol *symbol_of(bool (*wanted)(const struct symbol *))
{
	const struct symbol *s = any_symbol();
	unsigned tries = 0;

	while (!wanted(s) && tries++ < 1000000)
		s = s + 1 == symbols + nr_symbols ? symbols : s + 1;
	return s;
}
static bool is_text(const struct symbol *s) { return s->type == 't' || s->type == 'T'; }
static bool is_call(const struct symbol *s) { return s->call && is_text(s); }
static bool is_tracepoint(const struct symbol *s) { return s->tracepoint; }
static bool is_data(const struct symbol *s) { return s->type == 'd' || s->type == 'D' || s->type == 'b'; }

/* ----------------------------------------------------------------- programs */

enum { MOST = 64 };
struct code {
	struct bpf_insn insns[MOST];
	unsigned nr;
};

static void put(struct code *c, const struct bpf_insn *insns, unsigned nr)
{
	if (c->nr + nr > MOST)
		return;
	memcpy(c->insns + c->nr, insns, nr * sizeof(*insns));
	c->nr += nr;
}
#define PUT(c, ...)	put(c, PROG(__VA_ARGS__))

/* A part of a handler: r7 is the hit, the scratch memory has 8192 bytes, nothing else is kept. */
static void put_part(struct code *c, const struct session *s, unsigned kind)
{
	const unsigned map = s->nr_maps ? below(s->nr_maps) : 0, fixed = 24;

	switch (below(13)) {
	case 0:	/* an aggregation, or a wrong map */
		PUT(c, MOVI(0, below(4)), ST(10, -8, 0), ST(10, -16, 0), MOV(1, 7), MAP(2, map), MOV(3, 10), ADDI(3, -16),
		    MOVI(4, 1), CALL(agg_add));
		break;
	case 1:	/* a map that is shared */
		PUT(c, CALL(tid), ST(10, -8, 0), ST(10, -16, 0), ST(10, -24, 0), ST(10, -32, 0), MOV(1, 7), MAP(2, map), MOV(3, 10),
		    ADDI(3, -16), MOV(4, 10), ADDI(4, -32), CALL(map_set));
		break;
	case 2:
		PUT(c, CALL(tid), ST(10, -8, 0), ST(10, -16, 0), ST(10, -24, 0), ST(10, -32, 0), MOV(1, 7), MAP(2, map), MOV(3, 10),
		    ADDI(3, -16), MOV(4, 10), ADDI(4, -32), CALL(map_get));
		break;
	case 3:
		PUT(c, CALL(tid), ST(10, -8, 0), ST(10, -16, 0), MOV(1, 7), MAP(2, map), MOV(3, 10), ADDI(3, -16), CALL(map_delete));
		break;
	case 4:	/* a record with a name */
		PUT(c, LD(6, 7, HIT(scratch)), MOV(1, 6), MOVI(2, 16), CALL(comm),
		    MOV(1, 7), MOVI(2, 3), MOVI(3, fixed), MOVI(4, 16), CALL(rec_begin), JEQI(0, 0, 13),
		    MOV(8, 0), STI(8, 0, 1), STI(8, 8, 2), MOV(1, 7), MOV(2, 8), MOVI(3, 16), MOV(4, 6), MOVI(5, 16), CALL(rec_str),
		    MOV(1, 7), MOV(2, 8), CALL(rec_end), MOVI(0, 0));
		break;
	case 5:	/* a record that is dropped, or too large */
		PUT(c, MOV(1, 7), MOVI(2, 4), MOVI(3, fixed), MOVI(4, one_in(2) ? 0 : 9000), CALL(rec_begin), JEQI(0, 0, 7),
		    MOV(8, 0), STI(8, 0, 1), MOV(1, 7), MOV(2, 8), CALL(rec_drop), MOVI(0, 0), MOVI(0, 0));
		break;
	case 6:	/* addresses, good and bad */
		PUT(c, MOV(1, 7), IMM64(2, one_in(2) ? odd_number() : any_symbol()->addr), CALL(read64));
		break;
	case 7:
		PUT(c, LD(6, 7, HIT(scratch)), MOV(1, 7), MOV(2, 6), MOVI(3, 256), IMM64(4, one_in(2) ? odd_number() : any_symbol()->addr),
		    CALL(str));
		break;
	case 8:
		PUT(c, LD(6, 7, HIT(scratch)), MOV(1, 7), MOV(2, 6), MOVI(3, 8 * (1 + below(64))), one_in(2) ? CALL(kstack) : CALL(ustack));
		break;
	case 9:
		PUT(c, LD(6, 7, HIT(scratch)), MOV(1, 7), MOV(2, 6), MOVI(3, 128), IMM64(4, (uintptr_t)calls), MOVI(5, 64), CALL(ubuf));
		break;
	case 10:
		if (kind == KPL_PROG_ENTRY || kind == KPL_PROG_RET)
			PUT(c, LD(6, 7, HIT(data)), LD(0, 6, 0), ADDI(0, 1), ST(6, 0, 0));
		else if (kind != KPL_PROG_TRACEPOINT)
			PUT(c, LD(6, 7, HIT(regs)), LD(0, 6, offsetof(struct pt_regs, rip)));
		break;
	case 11:
		PUT(c, CALL(now), CALL(space), CALL(cgroup), MOV(1, 7), CALL(status_clear));
		break;
	case 12:
		if (one_in(8))
			PUT(c, MOV(1, 7), MOVI(2, 3), CALL(exit));
		else if (kind == KPL_PROG_PRE && one_in(2))
			PUT(c, MOV(1, 7), MOVI(2, -12), CALL(override));
		break;
	}
}

static struct code any_code(const struct session *s, unsigned kind)
{
	struct code c = { .nr = 0 };
	unsigned parts = below(4);

	PUT(&c, MOV(7, 1));
	while (parts--)
		put_part(&c, s, kind);
	PUT(&c, RETURN(kind == KPL_PROG_ENTRY && one_in(4) ? KPL_RET_SKIP : 0));
	if (one_in(4)) {
		struct bpf_insn *insn = &c.insns[below(c.nr)];

		switch (below(4)) {
		case 0: insn->code = random64(); break;
		case 1: insn->off = random64(); break;
		case 2: insn->imm = odd_number(); break;
		case 3: insn->dst_reg = random64(); insn->src_reg = random64(); break;
		}
	}
	return c;
}

/* -------------------------------------------------------------------- calls */

static int tell(enum call call, int result)
{
	__atomic_fetch_add(&shared->tried[call], 1, __ATOMIC_RELAXED);
	if (result >= 0)
		__atomic_fetch_add(&shared->done[call], 1, __ATOMIC_RELAXED);
	return result;
}
#define DO(name, arg)	tell(DID_##name, ioctl(s->fd, KPL_IOC_##name, one_in(100) ? (void *)odd_number() : (void *)(arg)))

static unsigned any_of(unsigned nr) { return one_in(20) ? (unsigned)odd_number() : nr ? below(nr) : 0; }

static void make_rings(struct session *s)
{
	struct kpl_ring_setup setup = { .size = one_in(10) ? (unsigned)odd_number() : 4096u << below(6) };

	if (!DO(RING_SETUP, &setup))
		s->rings = setup;
}

static void open_session(struct session *s)
{
	int fd = tell(DID_OPEN, open(KPL_DEVICE, one_in(10) ? O_RDONLY : O_RDWR)), old;

	if (fd < 0)
		return;
	s->nr_progs = s->nr_maps = s->nr_probes = 0;
	memset(&s->rings, 0, sizeof(s->rings));
	old = __atomic_exchange_n(&s->fd, fd, __ATOMIC_SEQ_CST);
	if (old >= 0)
		tell(DID_CLOSE, close(old));
	if (!one_in(4))
		make_rings(s);
}

static void make_map(struct session *s)
{
	struct kpl_map_create m = {
		.kind = one_in(3) ? KPL_MAP_HASH : below(KPL_MAP_KINDS), .key_size = one_in(3) ? 0 : 16, .max_entries = one_in(10) ? 1u << below(21) : 1 + below(256),
	};
	unsigned at;

	if (m.kind == KPL_MAP_HASH)
		m.key_size = m.value_size = 16;
	if (m.kind == KPL_MAP_LHIST) {
		m.hi = 100;
		m.step = 10;
	}
	if (m.key_size && one_in(4))
		m.key_string = below(4);
	if (one_in(10))
		((uint32_t *)&m)[below(sizeof(m) / 4)] = odd_number();
	if (DO(MAP_CREATE, &m) || m.id >= MAPS)
		return;
	at = m.id;
	s->map_off[at] = m.mmap_off;
	s->map_size[at] = m.mmap_size;
	if (s->nr_maps <= at)
		s->nr_maps = at + 1;
}

static void load_program(struct session *s)
{
	unsigned kind = below(KPL_PROG_KINDS);
	struct code c = any_code(s, kind);
	struct kpl_prog_load l = {
		.insns = (uintptr_t)c.insns, .nr_insns = c.nr, .kind = kind, .scratch_size = 8192, .flags = below(4),
		.budget = one_in(3) ? 0 : 200000,
		.data_size = kind >= KPL_PROG_ENTRY && kind != KPL_PROG_WATCH ? 8 : kind == KPL_PROG_WATCH ? 16 : 0,
	};

	if (one_in(20))
		((uint32_t *)&l)[below(sizeof(l) / 4)] = odd_number();
	if (DO(PROG_LOAD, &l) || l.id >= PROGS)
		return;
	s->prog_kind[l.id] = kind;
	if (s->nr_progs <= l.id)
		s->nr_progs = l.id + 1;
}

static unsigned program_of(const struct session *s, unsigned kind)
{
	unsigned at = s->nr_progs ? below(s->nr_progs) : 0, i;

	if (one_in(30))
		return any_of(s->nr_progs);
	for (i = 0; i < s->nr_progs; i++)
		if (s->prog_kind[(at + i) % s->nr_progs] == kind)
			return (at + i) % s->nr_progs;
	return KPL_NO_PROG;
}

__attribute__((noinline)) static int in_this_program(int n)
{
	__asm__ volatile("nop\n\tnop");
	return n + 1;
}

/*
 * How many words of arguments a function finds on the stack is the word of who may write the kernel anyway (kmod/direct.c):
 * with too few, it takes what lies there for pointers.  Enough for any function.
 */
static void stack_enough(struct kpl_attach *a)
{
	if (a->kind == KPL_PROBE_DIRECT && a->stack_args < 8)
		a->stack_args = 8;
}

static struct kpl_attach any_probe(const struct session *s)
{
	static const unsigned char first[] = {
		[KPL_PROBE_KPROBE] = KPL_PROG_PRE, [KPL_PROBE_KRETPROBE] = KPL_PROG_ENTRY, [KPL_PROBE_FTRACE] = KPL_PROG_PRE,
		[KPL_PROBE_DIRECT] = KPL_PROG_ENTRY, [KPL_PROBE_TRACEPOINT] = KPL_PROG_TRACEPOINT, [KPL_PROBE_EVENT] = KPL_PROG_PRE,
		[KPL_PROBE_WATCH] = KPL_PROG_WATCH, [KPL_PROBE_UPROBE] = KPL_PROG_PRE, [KPL_PROBE_URETPROBE] = KPL_PROG_ENTRY,
	};
	struct kpl_attach a = { .kind = below(KPL_PROBE_KINDS), .maxactive = 0, .line = below(100) };

	a.addr = a.func = symbol_of(is_text)->addr;
	a.prog[0] = program_of(s, first[a.kind]);
	a.prog[1] = a.prog[2] = KPL_NO_PROG;
	a.flags = (one_in(4) ? KPL_ATTACH_F_DISABLED : 0) | (one_in(2) ? KPL_ATTACH_F_OPTIONAL : 0);
	switch (a.kind) {
	case KPL_PROBE_KPROBE:
		a.addr += one_in(2) ? 0 : below(64);
		a.prog[1] = one_in(3) ? program_of(s, KPL_PROG_POST) : KPL_NO_PROG;
		a.prog[2] = one_in(3) ? program_of(s, KPL_PROG_FAULT) : KPL_NO_PROG;
		break;
	case KPL_PROBE_FTRACE:
		a.flags |= one_in(2) ? KPL_ATTACH_F_ELSE_KPROBE : 0;
		a.prog[1] = one_in(4) ? program_of(s, KPL_PROG_POST) : KPL_NO_PROG;
		break;
	case KPL_PROBE_KRETPROBE:
	case KPL_PROBE_DIRECT:
		a.flags |= a.kind == KPL_PROBE_DIRECT && one_in(2) ? KPL_ATTACH_F_ELSE_KPROBE : 0;
		a.maxactive = a.kind == KPL_PROBE_KRETPROBE ? below(64) : 0;
		a.prog[1] = program_of(s, KPL_PROG_RET);
		if (one_in(2))
			a.addr = a.func = symbol_of(is_call)->addr;
		else
			stack_enough(&a);
		break;
	case KPL_PROBE_TRACEPOINT:
		a.addr = symbol_of(is_tracepoint)->addr;
		break;
	case KPL_PROBE_EVENT:
		a.addr = below(PERF_COUNT_SW_MAX);
		a.event = 1 + below(4);
		a.period = a.event == KPL_EVENT_PROFILE ? 1 + below(2000) : a.event == KPL_EVENT_INTERVAL ? 1000000 : 1 + below(100);
		break;
	case KPL_PROBE_WATCH:
		a.addr = symbol_of(is_data)->addr & ~7ull;
		a.event = one_in(2) ? KPL_EVENT_WRITE : KPL_EVENT_ACCESS;
		a.len = 1u << below(4);
		break;
	case KPL_PROBE_UPROBE:
	case KPL_PROBE_URETPROBE:
		a.addr = (uintptr_t)in_this_program & 0xfffff; /* not position independent: the first page is the file's */
		a.addr += one_in(4) ? below(12) : 0;
		a.flags |= one_in(2) ? KPL_ATTACH_F_ENTRY : 0;
		a.fd = self;
		a.prog[1] = a.kind == KPL_PROBE_URETPROBE ? program_of(s, KPL_PROG_RET) : KPL_NO_PROG;
		a.maxactive = a.kind == KPL_PROBE_URETPROBE ? below(64) : 0;
		break;
	}
	if (one_in(3)) {
		a.when.mask = one_in(2) ? KPL_WHEN_OTHERS : KPL_WHEN_CPU;
		a.when.cpu = a.when.mask == KPL_WHEN_CPU ? below(2) : 0;
	}
	if (one_in(20)) {
		((uint32_t *)&a)[below(sizeof(a) / 4)] = odd_number();
		stack_enough(&a);
	}
	return a;
}

static void attach_some(struct session *s)
{
	enum { MOST_AT_ONCE = 40 };
	struct kpl_attach list[MOST_AT_ONCE];
	struct kpl_attach_batch batch = { .probes = (uintptr_t)list, .nr = one_in(4) ? 1 + below(MOST_AT_ONCE) : 1 + below(3) };
	unsigned i, nr = batch.nr;

	for (i = 0; i < nr; i++) {
		list[i] = any_probe(s);
		if (nr > 3)
			list[i].flags |= KPL_ATTACH_F_OPTIONAL;
		if (i && one_in(8)) {
			list[i].addr = list[i - 1].addr;
			stack_enough(&list[i]);
		}
	}
	if (one_in(20))
		batch.nr = odd_number();
	if (DO(ATTACH, &batch) || batch.nr != nr)
		return;
	for (i = 0; i < nr; i++) {
		if (list[i].error || list[i].kind >= KPL_PROBE_KINDS)
			continue;
		__atomic_fetch_add(&shared->attached[list[i].kind], 1, __ATOMIC_RELAXED);
		if (list[i].id >= s->nr_probes)
			s->nr_probes = list[i].id + 1;
	}
}

static void control_some(struct session *s)
{
	unsigned ids[PROBES], i;
	struct kpl_control c = { .ids = (uintptr_t)ids, .nr = 1 + below(one_in(2) ? 4 : PROBES), .op = one_in(30) ? odd_number() : below(5) % 3 };

	for (i = 0; i < c.nr; i++)
		ids[i] = s->nr_probes ? below(s->nr_probes) : 0;
	if (one_in(10))
		ids[below(c.nr)] = odd_number();
	DO(CONTROL, &c);
}

static void ask_stats(struct session *s)
{
	struct kpl_probe_stats list[PROBES];
	struct kpl_stats all = { .stats = (uintptr_t)list, .nr = 1 + below(PROBES) };
	unsigned i;

	memset(list, 0, sizeof(list));
	for (i = 0; i < all.nr; i++)
		list[i].id = s->nr_probes ? below(s->nr_probes) : 0;
	if (one_in(10))
		list[below(all.nr)].id = odd_number();
	DO(STATS, &all);
}

static void run_program(struct session *s)
{
	char data[64], regs[sizeof(struct pt_regs)];
	struct kpl_hit hit = { .func = any_symbol()->addr, .addr = odd_number() };
	struct kpl_prog_run r = {
		.id = any_of(s->nr_progs), .repeat = below(200), .regs = (uintptr_t)regs, .regs_size = sizeof(regs), .data = (uintptr_t)data,
		.data_size = one_in(2) ? 8 : below(64), .hit = (uintptr_t)&hit,
	};

	if (one_in(8))
		((uint32_t *)&r)[below(sizeof(r) / 4)] = odd_number();
	DO(PROG_RUN, &r);
}

static void keep_area(struct session *s, void *at, unsigned long size, bool writable)
{
	unsigned slot = below(AREAS);
	void *old;

	tell(DID_MMAP, at == MAP_FAILED ? -1 : 0);
	if (at == MAP_FAILED)
		return;
	old = __atomic_exchange_n(&s->area[slot].at, NULL, __ATOMIC_SEQ_CST);
	if (old)
		tell(DID_MUNMAP, munmap(old, s->area[slot].size));
	s->area[slot].size = size;
	s->area[slot].writable = writable;
	s->area[slot].at = at;
}

static void map_area(struct session *s)
{
	unsigned long off, size;
	int prot = PROT_READ;

	if (s->nr_maps && one_in(2)) {
		unsigned map = below(s->nr_maps);

		off = s->map_off[map];
		size = s->map_size[map];
	} else if (one_in(2)) {
		off = s->rings.ctl_off + below(2) * s->rings.ctl_stride;
		size = 4096;
		prot |= PROT_WRITE;
	} else {
		off = s->rings.data_off + below(2) * s->rings.data_stride;
		size = 4096 + 2 * s->rings.size;
	}
	if (one_in(20))
		off += 4096 * (long)(below(9) - 4);
	if (one_in(20))
		size = 4096 * below(64);
	if (one_in(20))
		prot ^= PROT_WRITE;
	keep_area(s, mmap(NULL, size, prot, MAP_SHARED, s->fd, off), size, prot & PROT_WRITE);
}

/* Faults where there is nothing go on behind the access: a handler skips no instruction, so the page is mapped over. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	mmap((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void touch_area(struct session *s)
{
	struct area *area = &s->area[below(AREAS)];
	char *at = area->at;
	unsigned long size = area->size;

	if (!at || !size)
		return;
	if (area->writable && one_in(2))
		*(volatile uint64_t *)(at + 8 * below(2)) = one_in(2) ? odd_number() : 0;
	else
		(void)*(volatile char *)(at + random64() % size);
}

static void anything(struct session *s)
{
	uint64_t words[64];
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = one_in(2) ? odd_number() : one_in(2) ? (uintptr_t)words : below(8);
	tell(DID_ANYTHING, ioctl(s->fd, _IOC(below(4), 'K', below(0x18), below(256)), words));
	tell(DID_ANYTHING, read(s->fd, words, sizeof(words)));
	tell(DID_ANYTHING, (int)lseek(s->fd, below(100), SEEK_SET));
}

static void small_calls(struct session *s)
{
	struct kpl_info info = { 0 };
	struct kpl_map_clear clear = { .id = any_of(s->nr_maps) };
	struct kpl_map_info map = { .id = any_of(s->nr_maps) };
	struct kpl_site site_list[16];
	struct kpl_prog_sites sites = { .id = any_of(s->nr_progs), .nr = below(17), .sites = (uintptr_t)site_list };
	struct kpl_pid pid = { .pid = one_in(2) ? (unsigned)getpid() : (unsigned)odd_number() };
	struct kpl_free free_it = { .kind = below(2), .id = any_of(PROGS) };
	struct kpl_share share = { .percent = one_in(2) ? KPL_SHARE_OFF : below(101) };
	struct kpl_title title = { .name = "storm", .dead_man = one_in(4) ? 1 : 0 };
	struct kpl_rights rights = { .rights = one_in(4) ? (unsigned)odd_number() & ~KPL_RIGHT_CHANGE : KPL_RIGHT_INJECT };
	struct kpl_bench bench = { .function = below(KPL_BENCH_FUNCTIONS + 1), .calls = below(1000) };
	struct kpl_ring_spare spare = { .size = 4096u << below(10) };
	struct kpl_ring_offer offer = { .nr = below(4) };
	char code[4096], key[64] = { 0 }, value[64] = { 0 };
	struct kpl_prog_native native = { .id = any_of(s->nr_progs), .size = below(sizeof(code)), .code = (uintptr_t)code };
	struct kpl_map_op op = {
		.id = any_of(s->nr_maps), .op = below(5), .key = (uintptr_t)key, .value = (uintptr_t)value, .cursor = one_in(4) ? odd_number() : 0,
	};
	struct pollfd ready = { .fd = s->fd, .events = POLLIN };

	key[0] = below(4);
	switch (below(18)) {
	case 0:
		if (!DO(INFO, &info) && info.hits_about > shared->hits)
			shared->hits = info.hits_about;
		break;
	case 1: DO(MAP_CLEAR, &clear); break;
	case 2: DO(MAP_INFO, &map); break;
	case 3: DO(PROG_SITES, &sites); break;
	case 4: DO(PID, &pid); break;
	case 5:
	case 6: DO(FREE, &free_it); break;
	case 7: DO(SHARE, &share); break;
	case 8: if (one_in(4)) DO(TITLE, &title); break;
	case 9: DO(RIGHTS, &rights); break;
	case 10: DO(BENCH, &bench); break;
	case 11:
		if (!DO(RING_SPARE, &spare) && one_in(2))
			offer.nr = spare.nr;
		/* fall through */
	case 12: DO(RING_OFFER, &offer); break;
	case 13: DO(PROG_NATIVE, &native); break;
	case 14:
	case 15: DO(MAP_OP, &op); break;
	case 16: tell(DID_POLL, poll(&ready, 1, below(3))); break;
	case 17: make_rings(s); break;
	}
}

/* A child inherits the sessions: none of them is its own.  It may outlive its parent. */
static void by_child(struct session *s)
{
	if (!fork()) {
		alarm(2);
		for (unsigned i = 0; i < 20; i++)
			one_in(2) ? small_calls(s) : attach_some(s);
		_exit(0);
	}
}

static void work(void)
{
	syscall(SYS_getpriority, PRIO_PROCESS, 0);
	in_this_program(1);
	close(open("/etc/passwd", O_RDONLY));
	if (one_in(20))
		sched_yield();
}

static void *storm(void *seed)
{
	state = (uintptr_t)seed * 0x9e3779b97f4a7c15 | 1;
	for (;;) {
		struct session *s = &sessions[below(SESSIONS)];

		if (s->fd < 0 || one_in(200))
			open_session(s);
		switch (below(16)) {
		case 0:
		case 1: make_map(s); break;
		case 2:
		case 3:
		case 4: load_program(s); break;
		case 5:
		case 6: attach_some(s); break;
		case 7: control_some(s); break;
		case 8: ask_stats(s); break;
		case 9: run_program(s); break;
		case 10: map_area(s); break;
		case 11: touch_area(s); break;
		case 12: if (one_in(4)) anything(s); break;
		case 13: if (one_in(100)) by_child(s); break;
		default: small_calls(s);
		}
		for (unsigned i = below(8); i--;)
			work();
	}
	return NULL;
}

/* Where the kernel refuses memory when it is asked to: to this process and its children, as often as the case has set. */
static void may_lack_memory(void)
{
	int fd = open("/proc/self/make-it-fail", O_WRONLY);

	if (fd < 0)
		return;
	write(fd, "1", 1);
	close(fd);
}

static void worker(uint64_t seed)
{
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	may_lack_memory();
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
	signal(SIGCHLD, SIG_IGN);
	for (unsigned i = 0; i < SESSIONS; i++)
		sessions[i].fd = -1;
	for (unsigned i = 1; i < THREADS; i++)
		pthread_create(&thread, NULL, storm, (void *)(uintptr_t)(seed * THREADS + i));
	storm((void *)(uintptr_t)(seed * THREADS));
}

/* --------------------------------------------------------------------- main */

static void read_symbols(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	char line[512], name[256];
	unsigned long long addr;
	char type;

	symbols = calloc(1u << 20, sizeof(*symbols));
	while (f && symbols && nr_symbols < 1u << 20 && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) == 3)
			symbols[nr_symbols++] = (struct symbol){
				addr, type, !strncmp(name, "__bpf_trace_tp_map_", 19), !strncmp(name, "__x64_sys_", 10),
			};
	if (!nr_symbols || !symbols[nr_symbols - 1].addr)
		exit((puts("no addresses in /proc/kallsyms"), 1));
	fclose(f);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}

/* A storm of calls that are all refused shows nothing. */
static int told(unsigned seconds)
{
	static const enum call needed[] = { DID_OPEN, DID_MMAP, DID_MAP_CREATE, DID_PROG_LOAD, DID_ATTACH };
	unsigned long attached = 0;
	unsigned i, bad = 0;

	for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (!shared->done[needed[i]])
			bad += printf("%s never succeeded\n", calls[needed[i]]);
	for (i = 0; i < DID_ANYTHING; i++)
		if (shared->tried[i] > 500 && !shared->done[i])
			bad += printf("%s never succeeded\n", calls[i]);
	for (i = 0; i < KPL_PROBE_KINDS; i++) {
		attached += shared->attached[i];
		if (seconds >= 60 && !shared->attached[i])
			bad += printf("kind %u was never attached\n", i);
	}
	if (!attached)
		bad += printf("nothing was attached\n");
	if (seconds >= 60 && !shared->hits)
		bad += printf("no handler ran\n");
	return !!bad;
}

int main(int argc, char **argv)
{
	const unsigned seconds = argc > 1 ? atoi(argv[1]) : 10, seed = argc > 2 ? atoi(argv[2]) : 1;
	uint64_t until, generation = 0;
	struct { pid_t pid; uint64_t until; } workers[WORKERS] = { { 0 } };
	unsigned kills = 0;

	state = seed * 0x9e3779b97f4a7c15 | 1;
	read_symbols();
	self = open("/proc/self/exe", O_RDONLY);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || self < 0)
		return 1;
	until = now_ms() + seconds * 1000ull;
	while (now_ms() < until) {
		for (unsigned i = 0; i < WORKERS; i++) {
			if (workers[i].pid && now_ms() >= workers[i].until) {
				kill(workers[i].pid, SIGKILL);
				waitpid(workers[i].pid, NULL, 0);
				workers[i].pid = 0;
				kills++;
			}
			if (workers[i].pid)
				continue;
			generation++;
			workers[i].until = now_ms() + 50 + below(one_in(4) ? 20000 : 3000);
			workers[i].pid = fork();
			if (workers[i].pid < 0)
				return 1;
			if (!workers[i].pid)
				worker(seed * 1000003ull + generation);
		}
		usleep(10000);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		if (!workers[i].pid)
			continue;
		kill(workers[i].pid, SIGKILL);
		waitpid(workers[i].pid, NULL, 0);
	}
	for (unsigned i = 0; i < CALLS; i++)
		printf("%-12s%8lu of %8lu\n", calls[i], shared->done[i], shared->tried[i]);
	for (unsigned i = 0; i < KPL_PROBE_KINDS; i++)
		printf("kind %u attached %lu times\n", i, shared->attached[i]);
	printf("%u processes killed, one session saw %lu hits\n", kills, shared->hits);
	return told(seconds);
}
