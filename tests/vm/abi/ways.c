/* SPDX-License-Identifier: MIT */
/* The ways to call the device: as a program of 64 bits, by the calls of one of 32 bits, and as one. */
#include "kit.h"
#include "steps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct way {
	const char *name;
	int bits;
	const char *program;	/* NULL: this one */
} ways[CALL_WAYS] = {
	{ "64 bits", 64, NULL },
#ifdef __x86_64__
	{ "int 0x80", 32, NULL },
	{ "32 bits", 32, "client32" },
#endif
};

#ifdef __x86_64__
int has_32_bits(void)
{
	static int known, has;
	int status = 0;
	pid_t child;

	if (known)
		return has;
	fflush(stdout);
	child = fork();
	if (!child)	/* it may be killed */
		_exit(call_32(20, 0, 0, 0, 0, 0, 0) != getpid());
	waitpid(child, &status, 0);
	known = 1;
	has = !status;
	OK(has || !debians_kernel());
	return has;
}

static void call_as(int bits)
{
	steps_bits = bits;
}
#else
int has_32_bits(void)
{
	return 0;
}

static void call_as(int bits)
{
	(void)bits;
}
#endif

static int there_is(const struct way *way)
{
	return way->bits == 64 || (way->bits == 32 && has_32_bits());
}

/* In a process of its own. */
static void take(const struct way *way, int fd, const char *text)
{
	char copy[256], given[16], *words[32] = { (char *)way->program }, **to = words + 1;

	snprintf(copy, sizeof(copy), "%s", text);
	snprintf(given, sizeof(given), "fd=%d", fd);
	if (fd >= 0)
		*to++ = given;
	for (*to = strtok(copy, " "); *to; *to = strtok(NULL, " "))
		to++;
	if (!way->program) {
		call_as(way->bits);
		_exit(steps(words + 1));
	}
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
	execvp(way->program, words);
	perror(way->program);
	_exit(1);
}

pid_t by_way(int i, int fd, const char *text)
{
	pid_t child;

	if (!there_is(&ways[i]))
		return 0;
	fflush(stdout);
	child = fork();
	if (!child)
		take(&ways[i], fd, text);
	return child;
}

void way_ended(int i, pid_t child, const char *text)
{
	int status = 0, before = checks_failed;

	if (!child)
		return;
	waitpid(child, &status, 0);
	EQ(status, 0);
	if (checks_failed != before)
		printf("  %s: %s\n", ways[i].name, text);
}

void each_way(int fd, const char *text)
{
	int i;

	for (i = 0; i < CALL_WAYS; i++)
		way_ended(i, by_way(i, fd, text), text);
}

void calls_fail(int fd, int error, int all)
{
	int i;

	for (i = 0; i < CALL_WAYS; i++) {
		if (!there_is(&ways[i]) || ways[i].program)
			continue;
		call_as(ways[i].bits);
		checks_failed += refused(fd, error, all);
	}
	call_as(64);
}
