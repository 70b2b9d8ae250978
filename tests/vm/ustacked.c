/* SPDX-License-Identifier: MIT */
/*
 * Calls with a known chain, outer() → middle() → inner(): `ustacked NAME N`.
 *	calls	N times
 *	mallocs	the same, and each inner() calls malloc(100)
 *	jit	N times by way of code that it makes, named "made" in /tmp/perf-PID.map
 *	fork	N times in a child, which has no program of its own
 *	wait	N times, then prints a line and waits
 *	leaks	prints a line and waits for a signal, then N times, inner() keeping malloc(100), prints another and waits
 *	tls	SSL_write("GET /\r\n") and SSL_read() of "200 OK\r\n", N times
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLED __attribute__((noinline, noclone, noipa))

static volatile long sink;
static int allocates, keeps;

CALLED void inner(void)
{
	sink++;
	if (allocates) {
		void *volatile made = malloc(100);

		if (!keeps)
			free(made);
	}
	sink++;
}

CALLED void middle(void (*then)(void))
{
	then();
	sink++;
}

CALLED void outer(void (*then)(void))
{
	middle(then);
	sink++;
}

static void *through;

/* push %rbp; mov %rsp,%rbp; movabs $inner,%rax; call *%rax; pop %rbp; ret */
static void make(void)
{
	static const unsigned char head[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 };
	static const unsigned char tail[] = { 0xff, 0xd0, 0x5d, 0xc3 };
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*to)(void) = inner;
	char name[64];
	FILE *map;

	memcpy(code, head, sizeof(head));
	memcpy(code + sizeof(head), &to, sizeof(to));
	memcpy(code + sizeof(head) + sizeof(to), tail, sizeof(tail));
	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	map = fopen(name, "w");
	if (!map)
		exit(1);
	fprintf(map, "%lx %zx made\n", (unsigned long)code, sizeof(head) + sizeof(to) + sizeof(tail));
	fclose(map);
	through = code;
}

CALLED int SSL_write(void *ssl, const char *text, int size)
{
	sink = ssl == text;
	return size;
}

CALLED int SSL_read(void *ssl, char *text, int room)
{
	sink = ssl == text;
	return snprintf(text, room, "200 OK\r\n");
}

static void say_and_wait(const char *text)
{
	puts(text);
	fflush(stdout);
	pause();
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;
	void (*then)(void) = inner;

	keeps = !strcmp(name, "leaks");
	allocates = keeps || !strcmp(name, "mallocs");
	if (keeps) {
		sigset_t signals;
		int number;

		sigemptyset(&signals);
		sigaddset(&signals, SIGUSR1);
		sigprocmask(SIG_BLOCK, &signals, NULL);
		puts("waits");
		fflush(stdout);
		sigwait(&signals, &number);
	}
	if (!strcmp(name, "jit")) {
		make();
		memcpy(&then, &through, sizeof(then));
	}
	if (!strcmp(name, "fork") && fork())
		return wait(NULL) < 0;
	for (; n > 0 && !strcmp(name, "tls"); n--) {
		char text[100];

		SSL_write(NULL, "GET /\r\n", 7);
		SSL_read(NULL, text, sizeof(text));
	}
	while (n-- > 0)
		outer(then);
	if (keeps)
		say_and_wait("leaked");
	if (!strcmp(name, "wait"))
		say_and_wait("waits");
	return 0;
}
