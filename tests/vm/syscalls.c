/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls whose arguments are known: `syscalls NAME N`, N times.
 *	getpid	of 64 bits	getpid32	by int 0x80
 *	openat, openat32	(-100, "/no/such/file", 0x80002, 0)
 *	fstat	of standard output
 *	nosleep	clock_nanosleep of -1 ns, which fails, with a timespec {5, -1}
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long call32(long nr, long a, long b, long c, long d)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d) : "memory", "r8", "r9", "r10", "r11");
	return ret;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;
	/* Where pointers of 32 bits lead. */
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct timespec wrong = { 5, -1 };
	struct stat st;

	if (low == MAP_FAILED)
		return 1;
	strcpy(low, "/no/such/file");
	for (; n > 0; n--) {
		if (!strcmp(name, "getpid"))
			syscall(SYS_getpid);
		else if (!strcmp(name, "getpid32"))
			call32(20, 0, 0, 0, 0);
		else if (!strcmp(name, "openat"))
			syscall(SYS_openat, -100, low, 0x80002, 0);
		else if (!strcmp(name, "openat32"))
			call32(295, -100, (long)(uintptr_t)low, 0x80002, 0);
		else if (!strcmp(name, "fstat"))
			syscall(SYS_fstat, 1, &st);
		else if (!strcmp(name, "nosleep"))
			syscall(SYS_clock_nanosleep, 1, 0, &wrong, NULL);
		else
			return 2;
	}
	return 0;
}
