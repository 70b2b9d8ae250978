/* SPDX-License-Identifier: MIT */
/*
 * Has marks (USDT) of its own, comes by so often and passes such values that both are known: `usdted NAME N`.
 *	nothing	usdted:nothing, without arguments, N times
 *	values	usdted:value(-i, i << 33, "text"), i from 1 to N: odd ones in one place, even ones in another, where they lie
 *		elsewhere
 *	operands	usdted:operands, once: all kinds of operands, for each its own number as text
 *	guarded	usdted:guarded(i), i from 1 to N, if its semaphore is up
 *	follow	prints "semaphore V" whenever it has another value, and comes by usdted:guarded while it is up
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As <sys/sdt.h> does it: a nop, and a note that says where it is and, in the assembler's words, what is passed. */
#define MARK(name, semaphore, args, ...)					\
	asm volatile("990: nop\n"						\
		     ".pushsection .note.stapsdt, \"?\", \"note\"\n"		\
		     ".balign 4\n"						\
		     ".4byte 992f - 991f, 994f - 993f, 3\n"			\
		     "991: .asciz \"stapsdt\"\n"				\
		     "992: .balign 4\n"						\
		     "993: .8byte 990b, _.stapsdt.base, " semaphore "\n"	\
		     ".asciz \"usdted\", \"" name "\", \"" args "\"\n"		\
		     "994: .balign 4\n"						\
		     ".popsection\n"						\
		     ".ifndef _.stapsdt.base\n"					\
		     ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
		     ".weak _.stapsdt.base\n"					\
		     ".hidden _.stapsdt.base\n"					\
		     "_.stapsdt.base: .space 1\n"				\
		     ".size _.stapsdt.base, 1\n"				\
		     ".popsection\n"						\
		     ".endif\n" : : __VA_ARGS__)

#ifdef __x86_64__
#define WORD(n)	"%k" #n		/* the 32 bits of a register */
#else
#define WORD(n)	"%w" #n
#endif

volatile unsigned short guarded_semaphore __attribute__((section(".probes")));
static volatile int counter = -7;

static void value_in_registers(int a, uint64_t b, const char *text)
{
	MARK("value", "0", "-4@" WORD(0) " 8@%1 8@%2", "r"(a), "r"(b), "r"(text));
}

static void value_elsewhere(int a, uint64_t b, const char *text)
{
	volatile uint64_t kept[3] = { 0, b, 0 };
	volatile int first = a;

	MARK("value", "0", "-4@%0 8@%1 8@%2", "m"(first), "m"(kept[1]), "r"(text));
}

static void operands(void)
{
#ifdef __x86_64__
	volatile uint64_t numbers[8] = { 0, 1, 2, 3, 4, 5, 6, 0xfedcba9876543210 };
	uint64_t third = 3;

	/* -1: all bytes of b, but for the low two; then numbers; memory; what is relative; what is not understood. */
	MARK("operands", "0",
	     "-1@%b0 1@%b0 -1@%h0 -2@%w0 2@%w0 -4@%k0 4@%k0 -8@%0 -4@$-5 1@$300 "
	     "8@8(%1,%2,8) -4@56(%1) 1@60(%1) -4@%3 4@%3 8f@%%xmm0",
	     "b"(0xffffffffffff80feUL), "r"(numbers), "r"(third), "m"(counter));
#endif
}

static void guarded(long i)
{
	if (guarded_semaphore)
		MARK("guarded", "guarded_semaphore", "-8@%0", "r"(i));
}

static void follow(void)
{
	int last = -1;

	for (;; usleep(1000)) {
		int now = guarded_semaphore;

		if (now != last) {
			printf("semaphore %d\n", now);
			fflush(stdout);
		}
		last = now;
		guarded(1);
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(name, "nothing")) {
		for (; n > 0; n--)
			MARK("nothing", "0", "", "r"(0));
	} else if (!strcmp(name, "values")) {
		for (long i = 1; i <= n; i++)
			(i % 2 ? value_in_registers : value_elsewhere)(-i, (uint64_t)i << 33, "text");
	} else if (!strcmp(name, "operands")) {
		operands();
	} else if (!strcmp(name, "guarded")) {
		for (long i = 1; i <= n; i++)
			guarded(i);
	} else if (!strcmp(name, "follow")) {
		follow();
	} else {
		return 2;
	}
	return 0;
}
