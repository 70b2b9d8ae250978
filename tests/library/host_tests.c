/* SPDX-License-Identifier: MIT */
/* What needs no module: options, loading, checking, misuse. */
#define _GNU_SOURCE
#include "kit.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const char opens[] =
	"local opens, calls = event(), count()\n"
	"kretprobe { 'do_sys_openat2',\n"
	"  entry = function(p) p.data.path = ustr(p.arg[2]) end,\n"
	"  ret = function(p, fd) calls[comm()]:add(); opens { pid = pid(), path = p.data.path, err = fd } end }\n";

static void versions(void)
{
	EQ(klua_api_version(), KLUA_API_VERSION);
	OK(strlen(klua_version()) > 2);
	OK(!strcmp(klua_strerror(KLUA_ERR_BUSY), "another thread is in a call of this session"));
	OK(!strcmp(klua_strerror(1), "no such error"));
}

static void options(void)
{
	klua_session *s = opened(NULL);
	int i;

	FAILS(s, KLUA_ERR_NOT_FOUND, "there are: require, include, pid, no-self, buffer", klua_set_option(s, "bufer", "4M"));
	FAILS(s, KLUA_ERR_USAGE, "'buffer' takes 4K to 64M", klua_set_option(s, "buffer", "1K"));
	FAILS(s, KLUA_ERR_USAGE, "from 1 to 50", klua_set_option(s, "wake-fill", "60"));
	FAILS(s, KLUA_ERR_USAGE, "takes bc, ir, asm, native, all, not 'ir,foo'", klua_set_option(s, "dump", "ir,foo"));
	FAILS(s, KLUA_ERR_USAGE, "name and a value", klua_set_option(s, "buffer", NULL));
	EQ(klua_set_option(s, "buffer", "4M"), 0);
	EQ(klua_set_option(s, "verbose", "1"), 0);
	for (i = 0; klua_option_name(i); i++)
		OK(strlen(klua_option_help(i)) > 10);
	OK(i > 8);
	EQ(load(s, ""), 0);
	FAILS(s, KLUA_ERR_STATE, "before the first script", klua_set_option(s, "buffer", "8M"));
	EQ(klua_close(s), 0);
}

static void loading(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);
	const char *const words[] = { "one", "two words" };

	DO(s, klua_load_string(s, "print(#arg, arg[2], ...)", 24, "args.lua", 2, words));
	OK(!strcmp(heard.text, "2\ttwo words\tone\ttwo words\n"));
	DO(s, load(s, "local k = require 'kprobe'; assert(k.api_version == 1 and #k.version > 2 and not version)"));
	FAILS(s, KLUA_ERR_SCRIPT, "test.lua:1: no", load(s, "error 'no'"));
	FAILS(s, KLUA_ERR_SCRIPT, "test.lua:2:", load(s, "\n)"));
	FAILS(s, KLUA_ERR_SYSTEM, "/no/such/file", klua_load_file(s, "/no/such/file", 0, NULL));
	FAILS(s, KLUA_ERR_USAGE, "argc", klua_load_string(s, "", 0, NULL, 1, NULL));
	FAILS(s, KLUA_ERR_USAGE, "no path", klua_load_file(s, NULL, 0, NULL));
	EQ(load(s, "exit(3)"), 0);
	OK(klua_ended(s, NULL));
	EQ(klua_close(s), 0);
}

/* A list with file and line, and what is wrong is forgotten. */
static void checking(void)
{
	struct klua_handler_info handler = { .size = sizeof(handler) };
	struct klua_error_info error = { .size = sizeof(error) };
	struct heard heard;
	klua_session *s = opened(&heard);

	EQ(load(s, "kprobe('vfs_read', function() x = 1 end)\n"
		   "kprobe('vfs_write', function() if cpu() then end end)"), 0);
	FAILS(s, KLUA_ERR_SCRIPT, "test.lua:1: ", klua_check(s));
	EQ(klua_error_count(s), 2);
	DO(s, klua_error_at(s, 1, &error));
	EQ(error.line, 2);
	EQ(error.error, KLUA_ERR_SCRIPT);
	OK(!strcmp(error.file, "test.lua"));
	OK(!strncmp(error.text, "this value is an integer", 24));
	EQ(klua_error_at(s, 2, &error), KLUA_ERR_NOT_FOUND);

	EQ(load(s, opens), 0);
	EQ(klua_check(s), 2);
	DO(s, klua_checked_handler(s, 1, &handler));
	OK(!strcmp(handler.name, "test.lua:2 ret of do_sys_openat2"));
	OK(handler.cost > 0 && handler.cost < handler.budget && handler.instructions > 10);
	FAILS(s, KLUA_ERR_NOT_FOUND, "klua_check", klua_checked_handler(s, 2, &handler));
	EQ(klua_check(s), 2);	/* it is still to be armed */
	OK(!heard.text[0]);
	EQ(klua_probe_count(s), 3);
	EQ(klua_close(s), 0);
}

/* What was loaded waits for klua_arm(): a poll neither arms it nor says that it can't be. */
static void pending(void)
{
	struct klua_probe_info probe = { .size = sizeof(probe) };
	struct klua_record_stats stats = { .size = sizeof(stats) };
	struct heard heard;
	klua_session *s = opened(&heard);
	int i;

	DO(s, load(s, "kprobe('vfs_read', function() end)\nevery(0.001, function() print 'tick' end)"));
	for (i = 0; i < 1000 && !heard.text[0]; i++)
		DO(s, klua_poll(s, 10, 10));
	OK(heard.text[0]);	/* timers run */
	OK(!heard.notes[0]);
	DO(s, klua_probe(s, 0, &probe));
	EQ(probe.places, 0);
	OK(strcmp(probe.state, "failed"));
	DO(s, klua_stats(s, &stats));
	EQ(stats.memory, 0);
	EQ(klua_check(s), 1);
	EQ(klua_close(s), 0);
}

/* A text callback that wants no more is not called again: not by the chunk, by timers, or at the end. */
static void text_refused(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);
	int i;

	heard.refuse = 1;
	DO(s, load(s, "print 'a' print 'b'\nevery(0.001, function() print 'c' end)\nat_exit(function() print 'd' end)"));
	EQ(klua_ended(s, NULL), 1);
	DO(s, klua_arm(s));
	for (i = 0; i < 3; i++)
		DO(s, klua_poll(s, 5, 5));
	DO(s, klua_stop(s));
	EQ(heard.texts, 1);
	EQ(klua_close(s), 0);
}

/* The process is the program's: os.exit() is the script's exit(). */
static void os_exit(void)
{
	static const struct {
		const char *code;
		int status;
	} ends[] = { { "os.exit(7)", 7 }, { "os.exit()", 0 }, { "os.exit(true)", 0 }, { "os.exit(false)", 1 }, { "os.exit(-1)", 255 } };
	unsigned i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		klua_session *s = opened(NULL);
		int status = -1;

		DO(s, load(s, ends[i].code));
		EQ(klua_ended(s, &status), 1);
		EQ(status, ends[i].status);
		EQ(klua_close(s), 0);
	}
}

/* An error of an at_exit function: the next call goes on behind it. */
static void stop_goes_on(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);

	DO(s, load(s, "at_exit(function() print 'one' end) at_exit(function() error 'two' end) at_exit(function() print 'three' end)"));
	FAILS(s, KLUA_ERR_SCRIPT, "two", klua_stop(s));
	OK(!strcmp(heard.text, "one\n"));
	DO(s, klua_stop(s));
	OK(!strcmp(heard.text, "one\nthree\n"));
	DO(s, klua_stop(s));
	OK(!strcmp(heard.text, "one\nthree\n"));
	FAILS(s, KLUA_ERR_STATE, "has ended", klua_arm(s));
	FAILS(s, KLUA_ERR_STATE, "has ended", klua_enable(s));
	EQ(klua_close(s), 0);
}

static void misuse(void)
{
	struct klua_value value;
	klua_session *s = opened(NULL);
	klua_rows *rows = NULL;

	EQ(klua_arm(NULL), KLUA_ERR_HANDLE);
	EQ(klua_close(NULL), 0);
	EQ(klua_open(NULL, NULL), KLUA_ERR_USAGE);
	EQ(klua_interrupt(NULL), KLUA_ERR_HANDLE);
	OK(strlen(klua_error_text(NULL)) > 0);
	FAILS(s, KLUA_ERR_USAGE, "below 0", klua_poll(s, -2, 0));
	EQ(klua_poll(s, 0, 0), 0);
	EQ(load(s, opens), 0);
	FAILS(s, KLUA_ERR_NOT_FOUND, "no event 7", klua_field_count(s, 7));
	FAILS(s, KLUA_ERR_STATE, "no armed handler", klua_field_count(s, 0));
	FAILS(s, KLUA_ERR_NOT_FOUND, "no map -1", klua_map_read(s, -1, &rows));
	FAILS(s, KLUA_ERR_NOT_FOUND, "no map is called", klua_find_map(s, "nosuch"));
	FAILS(s, KLUA_ERR_USAGE, "size is not set", klua_map(s, 0, &(struct klua_map_info){ 0 }));
	EQ(klua_record_value(NULL, 0, &value), KLUA_ERR_NOT_FOUND);
	EQ(klua_rows_count(NULL), KLUA_ERR_USAGE);
	FAILS(s, KLUA_ERR_TYPE, "not an aggregation", klua_map_set(s, 0, NULL, 0, NULL, 0));
	EQ(klua_close(s), 0);
}

static void after_fork(void)
{
	klua_session *s = opened(NULL);
	int status = 1;

	EQ(load(s, opens), 0);
	if (!fork()) {
		int right = klua_arm(s) == KLUA_ERR_FORKED && klua_interrupt(s) == KLUA_ERR_FORKED && klua_check(s) == KLUA_ERR_FORKED && !klua_close(s);

		_exit(right ? 0 : 1);
	}
	wait(&status);
	EQ(status, 0);
	EQ(klua_check(s), 2);
	EQ(klua_close(s), 0);
}

static void *interrupt_soon(void *s)
{
	usleep(100000);
	klua_interrupt(s);
	return NULL;
}

static void interrupted(void)
{
	klua_session *s = opened(NULL);
	pthread_t thread;
	struct pollfd fd = { .fd = klua_fd(s), .events = POLLIN };

	pthread_create(&thread, NULL, interrupt_soon, s);
	EQ(klua_poll(s, 20000, 10), 0);
	pthread_join(thread, NULL);
	EQ(poll(&fd, 1, 0), 0);
	klua_interrupt(s);
	EQ(poll(&fd, 1, 0), 1);
	EQ(klua_poll(s, -1, 10), 0);
	EQ(poll(&fd, 1, 0), 0);
	EQ(klua_close(s), 0);
}

static void *busy(void *s)
{
	EQ(klua_map_count(s), KLUA_ERR_BUSY);
	return NULL;
}

static int from_another_thread(void *user, const char *text, size_t length)
{
	klua_session *s = *(klua_session **)user;
	pthread_t thread;

	(void)text, (void)length;
	EQ(klua_arm(s), KLUA_ERR_STATE);
	EQ(klua_close(s), KLUA_ERR_STATE);
	EQ(klua_map_count(s), 0);
	pthread_create(&thread, NULL, busy, s);
	pthread_join(thread, NULL);
	return 1;
}

/* From a callback: some may be called, some not; another thread may call nothing. A refused text ends the session. */
static void reentered(void)
{
	klua_session *s = NULL;
	struct klua_callbacks callbacks = { .size = sizeof(callbacks), .user = &s, .text = from_another_thread };

	EQ(klua_open(&callbacks, &s), 0);
	EQ(load(s, "print 'hello'"), 0);
	EQ(klua_ended(s, NULL), 1);
	EQ(klua_close(s), 0);
}

/* Timers, and errors in them: the session goes on. */
static void timers(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);
	int i, errors = 0;

	EQ(load(s, "local n = 0\nevery(0.02, function() n = n + 1; if n == 2 then error 'two' end; print(n) end)"), 0);
	EQ(klua_arm(s), 0);
	for (i = 0; i < 500 && !strstr(heard.text, "4"); i++)
		if (klua_poll(s, 1000, 10) == KLUA_ERR_SCRIPT && strstr(klua_error_text(s), "test.lua:2: two"))
			errors++;
	EQ(errors, 1);
	OK(!strncmp(heard.text, "1\n3\n4\n", 6));
	FAILS(s, KLUA_ERR_SCRIPT, "again", load(s, "every(0.01, function() print 'never' end); error 'again'"));
	klua_poll(s, 60, 10);
	klua_poll(s, 60, 10);
	OK(!strstr(heard.text, "never"));
	EQ(klua_close(s), 0);
}

static void *check_often(void *arg)
{
	int i;

	(void)arg;
	test_name = "sessions in threads";
	for (i = 0; i < 5; i++) {
		klua_session *s = opened(NULL);

		EQ(load(s, opens), 0);
		EQ(klua_check(s), 2);
		EQ(klua_close(s), 0);
	}
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, check_often, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Each call says that the session is closed. */
static void closed(void)
{
	klua_session *s = opened(NULL);
	klua_rows *rows = NULL;

	EQ(klua_close(s), 0);
	EQ(load(s, ""), KLUA_ERR_HANDLE);
	EQ(klua_arm(s), KLUA_ERR_HANDLE);
	EQ(klua_poll(s, 0, 0), KLUA_ERR_HANDLE);
	EQ(klua_fd(s), KLUA_ERR_HANDLE);
	EQ(klua_interrupt(s), KLUA_ERR_HANDLE);
	EQ(klua_map_read(s, 0, &rows), KLUA_ERR_HANDLE);
	EQ(klua_stop(s), KLUA_ERR_HANDLE);
	EQ(klua_close(s), KLUA_ERR_HANDLE);
	OK(!strcmp(klua_error_text(s), klua_strerror(KLUA_ERR_HANDLE)));
}

const struct test host_tests[] = {
	{ "versions", versions },
	{ "options", options },
	{ "loading", loading },
	{ "checking", checking },
	{ "pending", pending },
	{ "text refused", text_refused },
	{ "os.exit", os_exit },
	{ "stop goes on", stop_goes_on },
	{ "misuse", misuse },
	{ "closed", closed },
	{ "after fork", after_fork },
	{ "interrupted", interrupted },
	{ "reentered", reentered },
	{ "timers", timers },
	{ "sessions in threads", in_threads },
	{ NULL, NULL },
};
