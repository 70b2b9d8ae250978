/* SPDX-License-Identifier: MIT */
/* Descriptors, reports, and ways to end. */
#define _GNU_SOURCE
#include "kit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int readable(klua_session *s, int wait_ms)
{
	struct pollfd fd = { .fd = klua_fd(s), .events = POLLIN };

	return poll(&fd, 1, wait_ms);
}

/* The descriptor alone tells when to poll. */
static void descriptor(void)
{
	klua_session *s = opened(NULL);
	struct klua_record_stats stats = { .size = sizeof(stats) };
	int got = 0, i;

	arm(s, "e = event(); kprobe(" CALLED ", function() e{ a = 1 } end)");
	while (readable(s, 500) == 1)
		EQ(klua_poll(s, 0, 10), 0);
	for (i = 0; i < 20; i++) {
		call(10);
		while (got < 10 * (i + 1) && readable(s, 10000) == 1)
			got += klua_poll(s, 0, 10);
	}
	EQ(got, 200);
	DO(s, klua_stats(s, &stats));
	EQ(stats.sent, 200);
	EQ(stats.delivered, 200);
	EQ(stats.lost + stats.left, 0);
	EQ(klua_close(s), 0);
}

/* Stops and losses reach their callbacks. */
static void reports(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);
	int i;

	DO(s, klua_set_option(s, "buffer", "4K"));
	arm(s, "e = event(); kprobe(" CALLED ", function(p) e{ s = comm() }\n local x = 1 / (p.arg[2] - p.arg[2]) end)");
	call(1000);
	for (i = 0; i < 30 && !(heard.lost && heard.notes[0]); i++)
		klua_poll(s, 200, 10);
	OK(heard.lost > 0);
	OK(strstr(heard.notes, "3 test.lua:2: division by zero"));
	EQ(klua_close(s), 0);
}

static void stopped(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);

	arm(s, "e, n = event(), count(); kprobe(" CALLED ", function() n:add() e{ a = 1 } end)\n"
	       "local got = 0; e:each(function() got = got + 1 end); at_exit(function() print('got', got) end)");
	call(100);
	DO(s, klua_stop(s));
	OK(!strcmp(heard.text, "got\t100\n"));
	call(100);
	EQ(total(s, "n"), 100);
	DO(s, load(s, "kprobe(" CALLED ", function() end)"));
	FAILS(s, KLUA_ERR_STATE, "has ended", klua_arm(s));
	FAILS(s, KLUA_ERR_STATE, "has ended", klua_enable(s));
	FAILS(s, KLUA_ERR_STATE, "has ended", klua_probe_enable(s, 0));
	DO(s, klua_stop(s));
	EQ(klua_close(s), 0);
}

static void exit_in_handler(void)
{
	klua_session *s = opened(NULL);
	int code = 0, i;

	arm(s, "kprobe(" CALLED ", function() exit(7) end)");
	EQ(klua_ended(s, &code), 0);
	call(1);
	for (i = 0; i < 50 && !klua_ended(s, NULL); i++)
		klua_poll(s, 100, 10);
	EQ(klua_ended(s, &code), 1);
	EQ(code, 7);
	EQ(klua_close(s), 0);
}

static int write_to_full_disk(void *user, const char *text, size_t length)
{
	int full = *(int *)user;

	return write(full, text, length) < 0;	/* ENOSPC */
}

/* The text callback wants no more: the session ends, and all that was counted can be read. */
static void full_disk(void)
{
	int full = open("/dev/full", O_WRONLY), i, code = 1;
	struct klua_callbacks callbacks = { .size = sizeof(callbacks), .user = &full, .text = write_to_full_disk };
	struct klua_record_stats stats = { .size = sizeof(stats) };
	klua_session *s = NULL;

	EQ(klua_open(&callbacks, &s), 0);
	arm(s, "n = count(); kprobe(" CALLED ", function() n:add() printf('line %d\\n', cpu()) end)");
	call(100);
	for (i = 0; i < 50 && !klua_ended(s, NULL); i++)
		EQ(klua_poll(s, 100, 10) < 0, 0);
	EQ(klua_ended(s, &code), 1);
	EQ(code, 0);
	EQ(total(s, "n"), 100);
	DO(s, klua_stop(s));
	DO(s, klua_stats(s, &stats));
	EQ(stats.sent, 100);
	EQ(stats.sent, stats.delivered + stats.lost + stats.left);
	EQ(klua_close(s), 0);
	close(full);
}

static int fail_on(void *user, const klua_record *record)
{
	(void)record;
	return ++*(int *)user == 3;
}

/* A function of the script raises an error: the records behind it are delivered when the program goes on. */
static void errors_in_callbacks(void)
{
	klua_session *s = opened(NULL);
	int i, errors = 0, seen = 0;

	arm(s, "e = event(); kprobe(" CALLED ", function() e{ a = 1 } end)\n"
	       "local n = 0; e:each(function() n = n + 1; if n % 10 == 0 then error('tenth') end end)");
	DO(s, klua_subscribe(s, event_of(s, "e"), fail_on, &seen));
	call(100);
	for (i = 0; i < 200 && (seen < 100 || errors < 10); i++)
		if (klua_poll(s, 50, 20) == KLUA_ERR_SCRIPT)
			errors += strstr(klua_error_text(s), "tenth") != NULL;
	EQ(seen, 100);
	EQ(errors, 10);
	EQ(klua_close(s), 0);
}

/* Nor does the end drop what comes behind an error. */
static void errors_at_the_end(void)
{
	klua_session *s = opened(NULL);
	struct klua_record_stats stats = { .size = sizeof(stats) };
	int i, errors = 0;

	arm(s, "e = event(); kprobe(" CALLED ", function() e{ a = 1 } end)\n"
	       "local n = 0; e:each(function() n = n + 1; if n % 10 == 0 then error('tenth') end end)");
	call(50);
	for (i = 0; i < 10 && klua_stop(s) == KLUA_ERR_SCRIPT; i++)
		errors++;
	EQ(errors, 5);
	DO(s, klua_stop(s));
	DO(s, klua_stats(s, &stats));
	EQ(stats.delivered, 50);
	EQ(stats.left, 0);
	EQ(klua_close(s), 0);
}

static const klua_record *kept;
static int keep_one(void *user, const klua_record *record)
{
	(void)user;
	kept = record;
	return 0;
}

/* A record that was kept says that it is over. */
static void kept_record(void)
{
	klua_session *s = opened(NULL);
	struct klua_value value;
	char text[8];

	arm(s, "e = event(); kprobe(" CALLED ", function() e{ a = 7 } end)");
	DO(s, klua_subscribe(s, event_of(s, "e"), keep_one, NULL));
	call(1);
	EQ(poll_for(s, 1), 1);
	FAILS(s, KLUA_ERR_STATE, "not now", klua_record_value(kept, 0, &value));
	EQ(klua_record_event(kept), KLUA_ERR_STATE);
	EQ(klua_record_text(kept, 0, text, sizeof(text)), KLUA_ERR_STATE);
	EQ(klua_record_int(kept, 0), 0);
	EQ(klua_record_time(kept), 0);
	EQ(klua_close(s), 0);
}

static int child_is;	/* 'r': it reads the record; 'c': it closes the session, and returns */
static int fork_there(void *user, const klua_record *record)
{
	struct klua_value value;
	int status = 1;
	pid_t child = fork();

	if (!child) {
		int right = child_is == 'r' ? klua_record_value(record, 0, &value) == KLUA_ERR_FORKED &&
					      klua_record_event(record) == KLUA_ERR_FORKED && klua_record_int(record, 0) == 0
					    : klua_close(user) == KLUA_ERR_STATE;

		if (child_is == 'r' || !right)
			_exit(right ? 0 : 1);
		return 0;	/* the poll that goes on in the child says so */
	}
	waitpid(child, &status, 0);
	EQ(status, 0);
	EQ(klua_record_int(record, 0), 7);
	return 0;
}

/* A child that is forked in a callback. */
static void child_in_callback(void)
{
	klua_session *s = opened(NULL);
	pid_t self = getpid();
	int got;

	arm(s, "e = event(); kprobe(" CALLED ", function() e{ a = 7 } end)");
	DO(s, klua_subscribe(s, event_of(s, "e"), fork_there, s));
	for (child_is = 'r';; child_is = 'c') {
		call(1);
		got = klua_poll(s, 10000, 20);
		if (getpid() != self)
			_exit(got == KLUA_ERR_FORKED && !klua_close(s) ? 0 : 1);
		EQ(got, 1);
		if (child_is == 'c')
			break;
	}
	EQ(klua_close(s), 0);
}

static volatile int ticks;
static void tick(int signal) { (void)signal, ticks++; }

/* Signals of the program do not keep probes from being armed. */
static void under_signals(void)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, never = { 0 };
	klua_session *s = opened(NULL);

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	DO(s, klua_set_option(s, "max-probes", "100"));
	arm(s, "n = count(); kprobe('vfs_*', function() n:add() end)");
	setitimer(ITIMER_REAL, &never, NULL);
	OK(ticks > 0);
	OK(klua_poll(s, 0, 10) >= 0);
	EQ(klua_close(s), 0);
}

/* A child's close leaves the parent's session armed. */
static void child_closes(void)
{
	klua_session *s = opened(NULL);
	int status = 1;

	arm(s, "n = count(); kprobe(" CALLED ", function() n:add() end)");
	if (!fork()) {
		int right = klua_poll(s, 0, 0) == KLUA_ERR_FORKED && !klua_close(s);

		_exit(right ? 0 : 1);
	}
	wait(&status);
	EQ(status, 0);
	call(3);
	EQ(total(s, "n"), 3);
	EQ(klua_close(s), 0);
}

const struct test life_tests[] = {
	{ "descriptor", descriptor },
	{ "reports", reports },
	{ "stopped", stopped },
	{ "exit in a handler", exit_in_handler },
	{ "a full disk", full_disk },
	{ "errors in callbacks", errors_in_callbacks },
	{ "errors at the end", errors_at_the_end },
	{ "a kept record", kept_record },
	{ "a child in a callback", child_in_callback },
	{ "under signals", under_signals },
	{ "a child closes", child_closes },
	{ NULL, NULL },
};
