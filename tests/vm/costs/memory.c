/* SPDX-License-Identifier: MIT */
/* Helpers that read memory that is there, strings, and stacks. */
#define _GNU_SOURCE
#include "costs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void read_number(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put_number(c, 2, m->a);
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

/* a: address, b: size or limit.  buf's fifth argument is more than any limit. */
static void read_block(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put(c, MOV(2, 7));
	put(c, MOVI(3, m->b));
	put_number(c, 4, m->a);
	put(c, MOVI(5, 10000));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void read_user(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put_number(c, 2, m->a);
	put(c, MOVI(3, m->b));
	put(c, CALL(uread));
}

/* A list without elements, which takes 1000. */
static void empty_list(struct code *c)
{
	put(c, INSN(BPF_ST | BPF_MEM | BPF_W, 7, 0, 0, 0));
	put(c, INSN(BPF_ST | BPF_MEM | BPF_W, 7, 0, 4, 1000 << 16));
}

static void append_number(struct code *c, const struct measurement *m, unsigned nr)
{
	empty_list(c);
	put(c, MOV(1, 6));
	put(c, MOV(2, 7));
	put(c, MOVI(3, m->b));
	put(c, MOVI(4, 5));
	put(c, CALL(list_num));
}

/* The string at 8192, of b bytes. */
static void append_string(struct code *c, const struct measurement *m, unsigned nr)
{
	empty_list(c);
	put(c, MOV(1, 6));
	put(c, MOV(2, 7));
	put(c, MOVI(3, 4095));
	put(c, MOV(4, 7));
	put(c, ADDI(4, 8192));
	put(c, MOVI(5, m->b));
	put(c, CALL(list_str));
}

/* a: a struct path whose mounts have their parent at 0, their place at 8, the struct vfsmount at 16; b: limit. */
static void way(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put(c, MOV(2, 7));
	put(c, MOVI(3, m->b));
	put_number(c, 4, m->a);
	put(c, MOVI(5, 8 << 10 | 16 << 20));
	put(c, CALL(path));
}

/* Two equal strings of b bytes, at the scratch memory's start and at 8192. */
static void two_strings(struct code *c, const struct measurement *m)
{
	int i;

	for (i = 0; i < 2; i++) {
		put(c, MOV(1, 6));
		put(c, MOV(2, 7));
		put(c, ADDI(2, 8192 * i));
		put(c, MOVI(3, m->b));
		put_number(c, 4, m->a);
		put(c, CALL(str));
	}
}

static void compare(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 7));
	put(c, MOVI(2, m->b));
	put(c, MOV(3, 7));
	put(c, ADDI(3, 8192));
	put(c, MOVI(4, m->b));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void copy(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put(c, MOV(2, 7));
	put(c, ADDI(2, 16384));
	put(c, MOVI(3, m->b));
	put(c, MOV(4, 7));
	put(c, MOVI(5, m->b));
	put(c, CALL(str_copy));
}

/* A short string into a long place. */
static void one_byte(struct code *c, const struct measurement *m)
{
	put(c, INSN(BPF_ST | BPF_MEM | BPF_DW, 7, 0, 0, 1));
}

static void stack(struct code *c, const struct measurement *m, unsigned nr)
{
	put(c, MOV(1, 6));
	put(c, MOV(2, 7));
	put(c, MOVI(3, m->b));
	put(c, INSN(BPF_JMP | BPF_CALL, 0, 0, 0, m->id));
}

static void measure_stacks(int fd)
{
	CASE(ustack, "1 frame", .fd = fd, .call = stack, .b = 8, .extra = KPL_USER_COST);
	CASE(ustack, "32 frames", .fd = fd, .call = stack, .b = 8 * 32, .extra = KPL_USER_COST);
	CASE(ustack, "127 frames", .fd = fd, .call = stack, .b = 8 * 127, .extra = KPL_USER_COST);
	CASE(ustack, "4 frames, first of a hit", .fd = fd, .call = stack, .b = 8 * 4, .extra = KPL_USER_COST,
	     .copies = 1);
	CASE(ustack, "512 of 8,191", .fd = fd, .call = stack, .b = 8 * 8191, .copies = 2);
	CASE(kstack, "1 frame", .fd = fd, .call = stack, .b = 8);
	CASE(kstack, "none of 990", .fd = fd, .call = stack, .b = 8 * 990, .copies = 2);
	CASE(kstack, "1 frame, in a module", .by = BY_DEEP_KPROBE, .call = stack, .b = 8);
	CASE(kstack, "8 frames, in a module", .by = BY_DEEP_KPROBE, .call = stack, .b = 8 * 8);
	CASE(kstack, "32 frames, in a module", .by = BY_DEEP_KPROBE, .call = stack, .b = 8 * 32);
	CASE(kstack, "127 frames, in a module", .by = BY_DEEP_KPROBE, .call = stack, .b = 8 * 127, .copies = 15);
	CASE(kstack, "1 frame of a tracepoint", .by = BY_DEEP_TRACEPOINT, .call = stack, .b = 8);
	CASE(kstack, "32 frames of a tracepoint", .by = BY_DEEP_TRACEPOINT, .call = stack, .b = 8 * 32);
	CASE(kstack, "100 frames of a tracepoint", .by = BY_DEEP_TRACEPOINT, .call = stack, .b = 8 * 100);
	CASE(kstack, "1 frame of an event", .by = BY_SWITCHES, .call = stack, .b = 8);
	CASE(kstack, "all of an event", .by = BY_SWITCHES, .call = stack, .b = 8 * 32);
}

/* The first 16 of a run take a trap each, the others nothing. */
static void measure_faults(int fd)
{
	const unsigned faults = KPL_MAX_FAULTS * KPL_FAULT_COST;
	const uint64_t unmapped = 0xffff800000000008, user = 0x1008;
	/* Of the kernel's, with page tables of four levels and of five. */
	const uint64_t first = 0xffff800000000000, first_of_five = 0xff00000000000000;

	CASE(read8, "bad address", .fd = fd, .call = read_number, .a = unmapped, .extra = faults);
	CASE(read64, "bad address", .fd = fd, .call = read_number, .a = unmapped, .extra = faults);
	CASE(read64, "300 bad addresses", .fd = fd, .call = read_number, .a = unmapped, .extra = faults, .copies = 300);
	CASE(read64, "300 times the first address", .fd = fd, .call = read_number, .a = first, .extra = faults, .copies = 300);
	CASE(read64, "300 times the first of five levels", .fd = fd, .call = read_number, .a = first_of_five,
	     .extra = faults, .copies = 300);
	CASE(read64, "no kernel address", .fd = fd, .call = read_number, .a = 0);
	CASE(read_mem, "bad address", .fd = fd, .call = read_block, .a = unmapped, .b = 64, .extra = faults);
	CASE(read_mem, "300 bad addresses", .fd = fd, .call = read_block, .a = unmapped, .b = 64, .extra = faults,
	     .copies = 300);
	CASE(buf, "bad address", .fd = fd, .call = read_block, .a = unmapped, .b = 64, .extra = faults);
	CASE(str, "bad address", .fd = fd, .call = read_block, .a = unmapped, .b = 64, .extra = faults);
	CASE(str, "300 bad addresses", .fd = fd, .call = read_block, .a = unmapped, .b = 64, .extra = faults,
	     .copies = 300);
	/* Nothing but the byte behind the limit is looked at. */
	CASE(str, "300 bad addresses, limit 0", .fd = fd, .call = read_block, .a = unmapped, .b = 0, .extra = faults,
	     .copies = 300);
	CASE(uread, "bad address", .fd = fd, .call = read_user, .a = user, .b = 8, .extra = faults);
	CASE(uread, "300 bad addresses", .fd = fd, .call = read_user, .a = user, .b = 8, .extra = faults, .copies = 300);
	CASE(ubuf, "bad address", .fd = fd, .call = read_block, .a = user, .b = 64, .extra = faults);
	CASE(ubuf, "300 bad addresses", .fd = fd, .call = read_block, .a = user, .b = 64, .extra = faults,
	     .copies = 300);
	CASE(ustr, "bad address", .fd = fd, .call = read_block, .a = user, .b = 64, .extra = faults);
	CASE(ustr, "300 bad addresses", .fd = fd, .call = read_block, .a = user, .b = 64, .extra = faults,
	     .copies = 300);
}

/* The path at `path` has 64 directories of this length. */
static void name_directories(const char *command)
{
	int fd = open("/sys/module/kpl_target/parameters/run", O_WRONLY);

	if (write(fd, command, strlen(command)) != (ssize_t)strlen(command))
		exit(1);
	close(fd);
}

static void measure_paths(int fd, uint64_t path)
{
	static const char *const commands[] = { "path 0", "path 1", "path 3", "path 7", "path 8", "path 62", "path 255" };
	static const unsigned limits[] = { 1, 255, 1023, 4095 };
	char what[32];
	unsigned i, k;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		name_directories(commands[i]);
		for (k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
			sprintf(what, "%s to %u", commands[i], limits[k]);
			CASE(path, what, .fd = fd, .call = way, .a = path, .b = limits[k]);
		}
	}
	CASE(path, "bad address", .fd = fd, .call = way, .a = 0xffff800000000008, .b = 64,
	     .extra = KPL_MAX_FAULTS * KPL_FAULT_COST);
}

void measure_memory(uint64_t kernel, uint64_t path)
{
	static const unsigned sizes[] = { 1, 7, 8, 63, 64, 127, 128, 255, 1000, 4095 };
	char *user = malloc(8192), what[32];
	int fd = session();
	unsigned i, at;

	memset(user, 'x', 8191);
	user[8191] = 0;
	CASE(read8, "", .fd = fd, .call = read_number, .a = kernel);
	CASE(read16, "", .fd = fd, .call = read_number, .a = kernel + 63);
	CASE(read32, "", .fd = fd, .call = read_number, .a = kernel + 63);
	CASE(read64, "", .fd = fd, .call = read_number, .a = kernel + 63);
	for (i = 1; i <= 8; i *= 2)
		CASE(uread, "", .fd = fd, .call = read_user, .a = (uintptr_t)user + 63, .b = i);
	CASE(list_num, "", .fd = fd, .call = append_number, .b = 4095);
	CASE(list_num, "cut", .fd = fd, .call = append_number, .b = 7);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (at = 0; at < 8; at += 7) {
			sprintf(what, "%u bytes at +%u", sizes[i], at);
			CASE(read_mem, what, .fd = fd, .call = read_block, .a = kernel + at, .b = sizes[i]);
			CASE(buf, what, .fd = fd, .call = read_block, .a = kernel + at, .b = sizes[i]);
			CASE(ubuf, what, .fd = fd, .call = read_block, .a = (uintptr_t)user + at, .b = sizes[i]);
			CASE(str, what, .fd = fd, .call = read_block, .a = kernel + at, .b = sizes[i]);
			CASE(ustr, what, .fd = fd, .call = read_block, .a = (uintptr_t)user + at, .b = sizes[i],
			     .extra = KPL_USER_COST);
		}
	CASE(ustr, "64 bytes, first of a hit", .fd = fd, .call = read_block, .a = (uintptr_t)user, .b = 64,
	     .extra = KPL_USER_COST, .copies = 1);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		sprintf(what, "%u bytes", sizes[i]);
		CASE(str_eq, what, .fd = fd, .prepare = two_strings, .call = compare, .a = kernel, .b = sizes[i]);
		CASE(str_starts, what, .fd = fd, .prepare = two_strings, .call = compare, .a = kernel, .b = sizes[i]);
		CASE(str_copy, what, .fd = fd, .prepare = two_strings, .call = copy, .a = kernel, .b = sizes[i]);
		CASE(list_str, what, .fd = fd, .prepare = two_strings, .call = append_string, .a = kernel, .b = sizes[i]);
		CASE(str_copy, "1 byte there", .fd = fd, .prepare = one_byte, .call = copy, .b = sizes[i]);
	}
	measure_paths(fd, path);
	measure_stacks(fd);
	measure_faults(fd);
}
