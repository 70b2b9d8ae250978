/* SPDX-License-Identifier: MIT */
/* Helpers on ring records.  A record is always begun and ended: the sum is what is measured. */
#define _GNU_SOURCE
#include "costs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

static void begin(struct code *c, unsigned tail, unsigned body)
{
	put(c, MOV(1, 6));
	put(c, MOVI(2, 1));
	put(c, MOVI(3, 16));
	put(c, MOVI(4, tail));
	put(c, CALL(rec_begin));
	put(c, JEQI(0, 0, body));
}

static void end(struct code *c, unsigned id)
{
	put(c, MOV(2, 0));
	put(c, MOV(1, 6));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id));
}

static void ended(struct code *c, const struct measurement *m, unsigned nr)
{
	begin(c, 0, 3);
	end(c, m->id);
}

static void dropped(struct code *c, const struct measurement *m, unsigned nr)
{
	begin(c, 0, 3);
	end(c, KPL_H_rec_drop);
}

/* A string whose header says b bytes. */
static void string(struct code *c, const struct measurement *m)
{
	put(c, INSN(BPF_ST | BPF_MEM | BPF_DW, 7, 0, 0, m->b));
}

/* A record with a string of up to b bytes: `body` slots give r4 and r5. */
static void begin_string(struct code *c, const struct measurement *m, unsigned body)
{
	begin(c, (m->b + 7) & ~7ull, 4 + body + 5);
	put(c, MOV(8, 0));
	put(c, MOV(2, 0));
	put(c, MOV(1, 6));
	put(c, MOVI(3, 8));
}

static void end_string(struct code *c, const struct measurement *m)
{
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
	put(c, MOV(0, 8));
	end(c, KPL_H_rec_drop);
}

static void with_string(struct code *c, const struct measurement *m, unsigned nr)
{
	begin_string(c, m, 2);
	put(c, MOV(4, 7));
	put(c, MOVI(5, m->b));
	end_string(c, m);
}

/* a: address, b: limit. */
static void read_string(struct code *c, const struct measurement *m, unsigned nr)
{
	begin_string(c, m, 3);
	put(c, MOVI(4, m->b));
	put_number(c, 5, m->a);
	end_string(c, m);
}

void measure_records(uint64_t text)
{
	static const unsigned sizes[] = { 1, 8, 64, 255, 4095 };
	struct kpl_ring_setup setup = { .size = 1 << 20 };
	int fd = session();
	unsigned i;
	char what[32];

	if (ioctl(fd, KPL_IOC_RING_SETUP, &setup)) {
		printf("FAILED: no rings\n");
		exit(1);
	}
	CASE(rec_begin, "and drop", .fd = fd, .call = dropped);
	CASE(rec_drop, "with begin", .fd = fd, .call = ended);
	CASE(rec_end, "with begin", .fd = fd, .call = ended);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sprintf(what, "%u bytes, begin and drop", sizes[i]);
		CASE(rec_str, what, .fd = fd, .prepare = string, .call = with_string, .b = sizes[i]);
		CASE(rec_read_str, what, .fd = fd, .call = read_string, .a = text, .b = sizes[i]);
		CASE(rec_read_str, what, .fd = fd, .call = read_string, .a = text + 1, .b = sizes[i]);
	}
	CASE(rec_read_str, "bad address", .fd = fd, .call = read_string, .a = 0xffff800000000008, .b = 64,
	     .extra = KPL_MAX_FAULTS * KPL_FAULT_COST);
}
