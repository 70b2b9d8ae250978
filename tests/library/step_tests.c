/* SPDX-License-Identifier: MIT */
/* Steps in a live session: each is done as a whole, or leaves it as it was. */
#define _GNU_SOURCE
#include "kit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char counting[] = "n = count()\nkprobe(" CALLED ", function() n:add() end)";

static void armed_again(void)
{
	klua_session *s = opened(NULL);

	arm(s, counting);
	call(10);
	arm(s, "m = count(); kprobe(" CALLED ", function() m:add(); n:add() end)");
	call(5);
	EQ(total(s, "n"), 20);
	EQ(total(s, "m"), 5);
	EQ(klua_arm(s), 0);	/* nothing to do */
	EQ(klua_close(s), 0);
}

/* Each kind of failure: nothing is left of the step, what ran goes on, and the next step finds all as it was. */
static const struct {
	const char *code, *says;
} failures[] = {
	{ "local x = count(); kprobe(" CALLED ", function() x:add() end); kprobe('no_such_function', function() end)",
	  "test.lua:1: no function 'no_such_function'" },
	{ "local x = count(); kprobe(" CALLED ", function() x:add() y = 1 end)", "assigns to the global 'y'" },
	{ "local x = hist{ max = 1000000 }; local y = hist{ max = 1000000 }\n"
	  "kprobe(" CALLED ", function() x[{ comm(), tid() }]:add(1); y[{ comm(), tid() }]:add(1) end)",
	  "a smaller max= takes less memory" },
	{ "local x = map(); x:set('long', 1)\n"
	  "kprobe(" CALLED ", function() x[pid()] = 1 end)", "does not fit" },
	/* Maps, programs and one of the probes were there already. */
	{ "local x = count(); kprobe(" CALLED ", function() x:add() end)\n"
	  "kprobe('int3_magic', function() x:add() end)", "" },
	{ "local x = count(); kprobe(" CALLED ", function() x:add() printf('%d', cpu()) end)\n"
	  "kprobe('vfs_read+1', function() x:add() end)", "can't probe vfs_read+0x1" },
};

static void all_or_none(void)
{
	klua_session *s = opened(NULL);
	struct klua_probe_info probe = { .size = sizeof(probe) };
	uint64_t before, counted = 0;
	unsigned i;

	arm(s, counting);
	DO(s, load(s, "local e = event(); kprobe{ " CALLED ", enabled = false, pre = function() e{ a = 1 } end }"));
	before = memory_of(s);
	DO(s, klua_arm(s));
	/* Rings stay, once they are there; the larger one comes a moment later. */
	for (i = 0; i < 1000 && memory_of(s) < before + (8 << 20); i++)
		usleep(10000);
	before = memory_of(s);
	for (i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		EQ(load(s, failures[i].code), 0);
		FAILS(s, KLUA_ERR_SCRIPT, failures[i].says, klua_arm(s));
		EQ(memory_of(s), before);
		call(10);
		counted += 10;
		EQ(total(s, "n"), counted);
		EQ(klua_find_map(s, "x"), KLUA_ERR_NOT_FOUND);
		EQ(klua_arm(s), 0);
	}
	DO(s, klua_probe(s, klua_probe_count(s) - 1, &probe));
	OK(!strcmp(probe.state, "failed"));
	arm(s, "local x = count(); kprobe(" CALLED ", function() x:add() end)");
	call(3);
	EQ(total(s, "x"), 3);
	EQ(klua_close(s), 0);
}

/* What a failed step has changed of older maps and events is undone: another type fits. */
static void layouts_undone(void)
{
	klua_session *s = opened(NULL);
	int event;

	DO(s, load(s, "m, e = count(), event()"));
	DO(s, klua_arm(s));
	EQ(load(s, "kprobe(" CALLED ", function() m[comm()]:add() e{ a = comm() } end); kprobe('nosuch', function() end)"), 0);
	EQ(klua_arm(s), KLUA_ERR_SCRIPT);
	arm(s, "kprobe(" CALLED ", function() m:add() e{ b = 7 } end)");
	event = event_of(s, "e");
	EQ(klua_field_count(s, event), 1);
	EQ(klua_find_field(s, event, "b"), 0);
	EQ(klua_find_field(s, event, "a"), KLUA_ERR_NOT_FOUND);
	call(4);
	EQ(total(s, "m"), 4);
	EQ(poll_for(s, 4), 4);
	EQ(klua_close(s), 0);
}

/* Far more steps than a session has room for programs and maps at one time. */
static void again_and_again(void)
{
	klua_session *s = opened(NULL);
	uint64_t before = 0, kept;
	int i;

	for (i = 0; i < 22; i++) {
		arm(s, "ps = {}; for i = 1, 50 do\n"
		       "  ps[i] = kprobe{ " CALLED ", pre = function() end, enabled = false } end");
		call(1);
		DO(s, load(s, "for i = 1, 50 do ps[i]:detach() end"));
		if (i == 1)
			before = memory_of(s);
	}
	/* A detached probe keeps its counts, no programs. */
	kept = (memory_of(s) - before) / 20 / 50;
	OK(kept < 8192);
	EQ(klua_close(s), 0);
}

/* Declared in a callback: armed in the next turn, or an error of that turn. */
static void from_callbacks(void)
{
	klua_session *s = opened(NULL);
	int i, errors = 0;

	arm(s, "n = count(); local t = 0\n"
	       "every(0.01, function() t = t + 1\n"
	       "  if t == 1 then kprobe('nosuch', function() end) end\n"
	       "  if t == 2 then kprobe(" CALLED ", function() n:add() end) end end)");
	for (i = 0; i < 100 && klua_find_map(s, "n") < 0; i++)
		errors += klua_poll(s, 100, 10) == KLUA_ERR_SCRIPT;
	for (i = 0; i < 100; i++) {
		struct klua_map_info map = { .size = sizeof(map) };

		klua_poll(s, 20, 10);
		DO(s, klua_map(s, map_of(s, "n"), &map));
		if (map.armed)
			break;
	}
	EQ(errors, 1);
	call(8);
	EQ(total(s, "n"), 8);
	EQ(klua_close(s), 0);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static long resident(void)
{
	long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	OK(f && fscanf(f, "%ld %ld", &size, &pages) == 2);
	if (f)
		fclose(f);
	return pages * 4;
}

/* Sessions leave nothing in the process: opened, armed (or only compiled) and closed, `count` times. */
void cycles(int count, int armed)
{
	int i, fds = descriptors(), settled = count < 100 ? 10 : count / 10;
	long before = 0;

	EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0);	/* else the kernel makes large pages of sparse ones at times of its own */
	for (i = 0; i < count; i++) {
		klua_session *s = opened(NULL);

		DO(s, load(s, counting));
		if (armed) {
			DO(s, klua_arm(s));
			call(1);
			EQ(total(s, "n"), 1);
		} else {
			EQ(klua_check(s), 1);
		}
		EQ(klua_close(s), 0);
		if (i + 1 == settled)
			before = resident();
		if (i % 100 == 99)
			printf("after %d sessions: %ld K, %d descriptors\n", i + 1, resident(), descriptors());
	}
	EQ(descriptors(), fds);
	printf("%d sessions: %ld K more than after %d\n", count, resident() - before, settled);
	OK(resident() - before < 1024);	/* K */
}

static void opened_again(void) { cycles(30, 1); }

/* In threads at the same time: each counts its own thread's calls. */
static void *count_own(void *arg)
{
	int i;

	(void)arg;
	test_name = "threads";
	for (i = 0; i < 2; i++) {
		klua_session *s = opened(NULL);
		char code[200];

		snprintf(code, sizeof(code), "n, e = count(), event()\nkprobe{ " CALLED ", when = { tid = %d }, pre = function() n:add() e{ x = 1 } end }",
			 gettid());
		arm(s, code);
		call(100);
		EQ(poll_for(s, 100), 100);
		EQ(total(s, "n"), 100);
		EQ(klua_close(s), 0);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, count_own, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

/* A poll leaves what was loaded to klua_arm(); what callbacks declare meanwhile waits with it. */
static void polled_before_armed(void)
{
	struct klua_probe_info probe = { .size = sizeof(probe) };
	struct heard heard;
	klua_session *s = opened(&heard);
	int i;

	arm(s, "n = count(); every(0.001, function() if not done then done = true; kprobe(" CALLED ", function() n:add() end) print 'declared' end end)\n"
	       "kprobe(" CALLED ", function() end)");
	DO(s, load(s, "m = count(); kprobe(" CALLED ", function() m:add() end)"));
	for (i = 0; i < 1000 && !heard.text[0]; i++)
		DO(s, klua_poll(s, 10, 10));
	DO(s, klua_poll(s, 10, 10));
	for (i = 1; i < 3; i++) {
		DO(s, klua_probe(s, i, &probe));
		EQ(probe.places, 0);
	}
	DO(s, klua_arm(s));
	call(3);
	EQ(total(s, "n"), 3);
	EQ(total(s, "m"), 3);
	EQ(klua_close(s), 0);
}

const struct test step_tests[] = {
	{ "armed again", armed_again },
	{ "all or none", all_or_none },
	{ "layouts undone", layouts_undone },
	{ "again and again", again_and_again },
	{ "declared in callbacks", from_callbacks },
	{ "polled before armed", polled_before_armed },
	{ "opened again and again", opened_again },
	{ "threads", threads },
	{ NULL, NULL },
};
