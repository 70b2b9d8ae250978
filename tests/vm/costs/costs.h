/* SPDX-License-Identifier: MIT */
/* What the measurements of helpers share. */
#ifndef COSTS_H
#define COSTS_H

#include "../abi/kit.h"

struct code {
	struct bpf_insn insns[KPL_MAX_INSNS];
	unsigned nr;
};

static inline void put(struct code *c, struct bpf_insn insn)
{
	c->insns[c->nr++] = insn;
}

/* The two slots of a map's load. */
static inline void put_map(struct code *c, unsigned reg, unsigned id)
{
	put(c, INSN(BPF_LD | BPF_IMM | BPF_DW, reg, 1, 0, id));
	put(c, INSN(0, 0, 0, 0, 0));
}

static inline void put_number(struct code *c, unsigned reg, uint64_t value)
{
	put(c, INSN(BPF_LD | BPF_IMM | BPF_DW, reg, 0, 0, (uint32_t)value));
	put(c, INSN(0, 0, 0, 0, value >> 32));
}

/* Deep: under 100 calls of kpl_t_recurse(). */
enum hits {
	BY_DEEP_KPROBE = 1,
	BY_DEEP_TRACEPOINT,
	BY_SWITCHES,		/* the kernel's own event, at switches of the context */
};

/*
 * One case of one helper.  When `call` writes its instructions, r6 is the hit,
 * r7 the scratch memory and r8 the instance data.
 */
struct measurement {
	const char *helper, *what;
	unsigned id;
	int fd;
	void (*prepare)(struct code *c, const struct measurement *m);
	void (*call)(struct code *c, const struct measurement *m, unsigned nr);
	uint64_t a, b;		/* for them */
	const struct kpl_map_create *fresh;	/* `a` is a map like this, which no run has seen */
	unsigned copies;	/* calls in a row; 0: 16 */
	unsigned extra;		/* what all of them may take beside what is declared */
	int changes;		/* it takes every right, and is of a pre handler: no instance data */
	enum hits by;		/* the program runs by itself (0), or at a probe's hits: no instance data */
};

#define CASE(name, text, ...) \
	measure(&(struct measurement){ .helper = #name, .what = text, .id = KPL_H_##name, __VA_ARGS__ })

/* Prints what the calls take, and counts those that take more than is declared. */
void measure(const struct measurement *m);

void measure_simple(void);
void measure_memory(uint64_t long_string, uint64_t path);
void measure_maps(void);
void measure_records(uint64_t long_string);

#endif
