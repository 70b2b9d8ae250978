/* SPDX-License-Identifier: MIT */
/* The C API. usage: library_test host|all [NAME]; library_test armed|checked COUNT: so many sessions, one after the other;
 * library_test refused TEXT: arming fails with that text, and the session goes on */
#define _GNU_SOURCE
#include "kit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

_Thread_local const char *test_name = "";
static atomic_int failed_checks;

void check_failed(void) { failed_checks++; }

static int hear_text(void *user, const char *text, size_t length)
{
	struct heard *heard = user;
	size_t have = strlen(heard->text);

	heard->texts++;
	if (heard->refuse)
		return 1;
	if (have + length < sizeof(heard->text))
		memcpy(heard->text + have, text, length);
	return 0;
}

static void hear_note(void *user, enum klua_note kind, const char *line)
{
	struct heard *heard = user;
	size_t have = strlen(heard->notes);

	snprintf(heard->notes + have, sizeof(heard->notes) - have, "%d %s\n", (int)kind, line);
}

static void hear_lost(void *user, uint64_t events) { ((struct heard *)user)->lost += events; }

klua_session *opened(struct heard *heard)
{
	struct klua_callbacks callbacks = {
		.size = sizeof(callbacks), .user = heard, .text = hear_text, .note = hear_note, .lost = hear_lost,
	};
	klua_session *s = NULL;

	if (heard)
		memset(heard, 0, sizeof(*heard));
	EQ(klua_open(heard ? &callbacks : NULL, &s), 0);
	return s;
}

int load(klua_session *s, const char *code)
{
	return klua_load_string(s, code, strlen(code), "test.lua", 0, NULL);
}

void arm(klua_session *s, const char *code)
{
	DO(s, load(s, code));
	DO(s, klua_arm(s));
}

int event_of(klua_session *s, const char *name)
{
	int event = klua_find_event(s, name);

	OK(event >= 0);
	return event;
}

int map_of(klua_session *s, const char *name)
{
	int map = klua_find_map(s, name);

	OK(map >= 0);
	return map;
}

void call(unsigned n)
{
	while (n--)
		getpriority(PRIO_PROCESS, 0);
}

int poll_for(klua_session *s, int records)
{
	time_t end = time(NULL) + 10;
	int got = 0;

	while (got < records && time(NULL) < end) {
		int n = klua_poll(s, 100, 20);

		if (n < 0) {
			DO(s, n);
			break;
		}
		got += n;
	}
	return got;
}

uint64_t memory_of(klua_session *s)
{
	struct klua_record_stats stats = { .size = sizeof(stats) };

	DO(s, klua_stats(s, &stats));
	return stats.memory;
}

uint64_t total(klua_session *s, const char *name)
{
	struct klua_aggregate value = { .size = sizeof(value) };
	klua_rows *rows = NULL;

	DO(s, klua_map_read(s, map_of(s, name), &rows));
	EQ(klua_rows_count(rows), 1);
	EQ(klua_rows_aggregate(rows, 0, &value), 0);
	klua_rows_free(rows);
	return value.count;
}

/* Where nothing can be armed: an error that says why, and the session is as it was. */
static void refused(const char *why)
{
	klua_session *s = opened(NULL);
	int i;

	for (i = 0; i < 2; i++) {
		DO(s, load(s, "n = count(); kprobe('vfs_read', function() n:add() end)"));
		FAILS(s, KLUA_ERR_SYSTEM, why, klua_arm(s));
		EQ(klua_poll(s, 0, 0), 0);
		EQ(klua_ended(s, NULL), 0);
	}
	DO(s, load(s, "n = count(); kprobe('vfs_read', function() n:add() end)"));
	EQ(klua_check(s), 1);
	EQ(klua_close(s), 0);
}

static int run(const struct test *tests, const char *only)
{
	int ran = 0;

	for (; tests->name; tests++) {
		if (only && strcmp(only, tests->name))
			continue;
		struct timespec began, ended;

		test_name = tests->name;
		clock_gettime(CLOCK_MONOTONIC, &began);
		tests->run();
		clock_gettime(CLOCK_MONOTONIC, &ended);
		printf("%s: %.2f s\n", tests->name,
		       ended.tv_sec - began.tv_sec + (ended.tv_nsec - began.tv_nsec) / 1e9);
		fflush(stdout);
		ran++;
	}
	return ran;
}

int main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	int ran;

	if (only && (!strcmp(argv[1], "armed") || !strcmp(argv[1], "checked"))) {
		cycles(atoi(only), !strcmp(argv[1], "armed"));
		return failed_checks != 0;
	}
	if (only && !strcmp(argv[1], "refused")) {
		refused(only);
		return failed_checks != 0;
	}
	ran = run(host_tests, only) + run(refusal_tests, only);

	if (argc > 1 && !strcmp(argv[1], "all")) {
		ran += run(step_tests, only);
		ran += run(data_tests, only);
		ran += run(life_tests, only);
	}
	printf("%d tests, %d checks failed\n", ran, (int)failed_checks);
	return failed_checks || !ran;
}
