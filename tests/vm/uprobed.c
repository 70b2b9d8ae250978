/* SPDX-License-Identifier: MIT */
/*
 * Calls functions of its own, so often and with such values that both are known: `uprobed NAME N`.
 *	add	add(i, 2 * i), i from 1 to N
 *	nine	nine(1, 2, … 9), N times
 *	fact	fact(N), recursively
 *	threads	4 threads, each fact(3) N times
 *	fork	inside forks(), N times; the child returns from it, too, and then calls add(1, 2)
 *	jump	jumps(i) leaves by longjmp, N times; then add(1, 2)
 *	stays	leaves(i) returns, N times
 *	holds	leaves(-1) leaves by longjmp, N times, called from one place as if it were a tail call that is followed: the word
 *		that it returns to begins a page; then it prints a line and waits
 *	tail	ping(N) jumps to pong(N - 1), which jumps to ping(N - 2), and so on: all return 7, when the last one does
 *	tails	the same with a fork() in the last one: the child's return 8
 *	exec	execs() runs `uprobed add N`
 *	pages	text(s) with a string that is in no page of the process, over the end of one, N times; then a bad address
 *	served	text(s) with a string in a page that another process is to bring, which does not
 *	loop	add(1, 2) again and again
 *	wait	waits(N) prints a line and never returns
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone, noipa))

static const char *self;
static jmp_buf back;
static volatile long sink;

CALLED long add(long a, long b)
{
	return sink = a + b;
}

CALLED long nine(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	return sink = a + b + c + d + e + f + g + h + i;
}

CALLED long fact(long n)
{
	return sink = n < 2 ? 1 : n * fact(n - 1);
}

CALLED int forks(void)
{
	int child = fork();

	sink = child;
	return child ? 1 : 0;
}

CALLED void jumps(long n)
{
	sink = n;
	longjmp(back, 1);
}

CALLED long leaves(long n)
{
	if (n < 0)
		longjmp(back, 1);
	return sink = n;
}

/* Tail calls. */
static long (*last)(void);
#define JUMPS __attribute__((optimize("O2")))
JUMPS CALLED long pong(long n);
JUMPS CALLED long ping(long n) { return n ? pong(n - 1) : last(); }
JUMPS CALLED long pong(long n) { return n ? ping(n - 1) : last(); }
static long seven(void) { return 7; }
static long fork_off(void) { return fork() ? 7 : 8; }

CALLED void execs(const char *n)
{
	execl(self, self, "add", n, NULL);
	sink = 0;
}

CALLED long text(const char *s)
{
	return sink = s != NULL;
}

CALLED void waits(long n)
{
	sink = n;
	printf("waits\n");
	fflush(stdout);
	for (;;)
		pause();
}

static void holds(long n)
{
	static long stack[8192] __attribute__((aligned(16)));
	long *const top = &stack[8191];

	for (volatile long i = 0; i < n; i++) {
		if (setjmp(back))
			continue;
		*top = 0x1000;
#ifdef __x86_64__
		__asm__ volatile("mov %0, %%rsp; mov $-1, %%rdi; jmp leaves" : : "r"(top) : "memory");
#endif
	}
	printf("holds\n");
	fflush(stdout);
	pause();
}

static void *of_thread(void *n)
{
	for (long i = 0; i < (long)n; i++)
		fact(3);
	return NULL;
}

static void threads(long n)
{
	pthread_t ids[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, of_thread, (void *)n);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}

/* "page 1 goes on in page 2", the first part in one, the rest in the next; of a file, so that it can be taken away. */
static void pages(long n)
{
	FILE *file = tmpfile();
	long size = sysconf(_SC_PAGESIZE);

	if (!file || fseek(file, size - 7, SEEK_SET) || fputs("page 1 goes on in page 2", file) < 0 || fflush(file))
		exit(1);
	for (; n > 0; n--) {
		char *map = mmap(NULL, 2 * size, PROT_READ, MAP_PRIVATE, fileno(file), 0);

		/* Pages around a fault are not mapped with it. */
		madvise(map, 2 * size, MADV_RANDOM);
		text(map + size - 7);
		munmap(map, 2 * size);
	}
	text((const char *)0x10000);
}

/* Who reads there waits for ever. */
static void served(void)
{
	long size = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (unsigned long)map, size }, .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		exit(1);
	text(map);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	self = "/proc/self/exe";
	if (!strcmp(name, "add")) {
		for (long i = 1; i <= n; i++)
			add(i, 2 * i);
	} else if (!strcmp(name, "nine")) {
		for (; n > 0; n--)
			nine(1, 2, 3, 4, 5, 6, 7, 8, 9);
	} else if (!strcmp(name, "fact")) {
		fact(n);
	} else if (!strcmp(name, "threads")) {
		threads(n);
	} else if (!strcmp(name, "fork")) {
		for (; n > 0; n--) {
			if (!forks()) {
				add(1, 2);
				_exit(0);
			}
			wait(NULL);
		}
	} else if (!strcmp(name, "jump")) {
		for (volatile long i = 0; i < n; i++)
			if (!setjmp(back))
				jumps(i);
		add(1, 2);
	} else if (!strcmp(name, "stays")) {
		for (long i = 0; i < n; i++)
			leaves(i);
	} else if (!strcmp(name, "holds")) {
		holds(n);
	} else if (!strcmp(name, "tail") || !strcmp(name, "tails")) {
		last = name[4] ? fork_off : seven;
		ping(n);
		while (wait(NULL) > 0)
			continue;
	} else if (!strcmp(name, "exec")) {
		execs(argv[2]);
	} else if (!strcmp(name, "pages")) {
		pages(n);
	} else if (!strcmp(name, "served")) {
		served();
	} else if (!strcmp(name, "loop")) {
		for (;; usleep(1000))
			add(1, 2);
	} else if (!strcmp(name, "wait")) {
		waits(n);
	} else {
		return 2;
	}
	return 0;
}
