/* SPDX-License-Identifier: MIT */
/*
 * Who opens this path? One JSON line for each open, beside a timer and standard input in one epoll loop.
 *
 *   cc -o opens opens.c $(pkg-config --cflags --libs kprobe-lua)
 *   sudo ./opens /etc/passwd [SECONDS]		a count every second; the line "stop", or the end of input, ends it
 */
#include <kprobe-lua.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static const char script[] =
	"local opens = event()\n"
	"local path = arg[1]\n"
	"kretprobe { 'do_sys_openat2',\n"
	"  entry = function(p, dfd, name) p.data.path = ustr(name) end,\n"
	"  ret = function(p, fd)\n"
	"    if p.data.path == path then opens { pid = pid(), comm = comm(), path = p.data.path, fd = fd } end\n"
	"  end }\n";

struct fields {
	int pid, comm, path, fd;
	unsigned long seen;
};

static void print_json_string(const char *bytes, size_t length)
{
	putchar('"');
	for (; length; length--, bytes++) {
		unsigned char c = *bytes;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static int on_open(void *user, const klua_record *record)
{
	struct fields *f = user;
	const char *text;
	size_t length;

	f->seen++;
	printf("{\"pid\":%lld,\"comm\":", (long long)klua_record_int(record, f->pid));
	text = klua_record_string(record, f->comm, &length);
	print_json_string(text, length);
	printf(",\"path\":");
	text = klua_record_string(record, f->path, &length);
	print_json_string(text, length);
	printf(",\"fd\":%lld}\n", (long long)klua_record_int(record, f->fd));
	return 0;
}

static void on_note(void *user, enum klua_note kind, const char *line)
{
	(void)user, (void)kind;
	fprintf(stderr, "%s\n", line);
}

static int fail(klua_session *s)
{
	fprintf(stderr, "opens: %s\n", klua_error_text(s));
	klua_close(s);
	return 1;
}

static void watch(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

/* 0: go on. */
static int on_input(void)
{
	char line[256];
	ssize_t got = read(STDIN_FILENO, line, sizeof(line) - 1);

	if (got <= 0)
		return 1;
	line[got] = 0;
	return strstr(line, "stop") != NULL;
}

static int loop(klua_session *s, struct fields *fields, long seconds)
{
	struct itimerspec each_second = { { 1, 0 }, { 1, 0 } };
	int set = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	unsigned long long ticks;
	struct epoll_event event;

	timerfd_settime(timer, 0, &each_second, NULL);
	watch(set, klua_fd(s));
	watch(set, timer);
	watch(set, STDIN_FILENO);
	while (seconds && epoll_wait(set, &event, 1, -1) == 1) {
		if (event.data.fd == timer) {
			if (read(timer, &ticks, sizeof(ticks)) > 0)
				fprintf(stderr, "%lu opens so far\n", fields->seen);
			seconds--;
		} else if (event.data.fd == STDIN_FILENO) {
			if (on_input())
				break;
		} else if (klua_poll(s, 0, 20) < 0) {
			return -1;
		}
		fflush(stdout);
	}
	close(timer);
	close(set);
	return klua_stop(s);
}

int main(int argc, char **argv)
{
	struct klua_callbacks callbacks = { .size = sizeof(callbacks), .note = on_note };
	const char *const args[] = { argc > 1 ? argv[1] : NULL };
	struct fields fields = { 0 };
	klua_session *s;
	int event;

	if (argc < 2) {
		fprintf(stderr, "usage: opens PATH [SECONDS]\n");
		return 2;
	}
	if (klua_open(&callbacks, &s) || klua_load_string(s, script, strlen(script), "opens", 1, args) || klua_arm(s))
		return fail(s);
	event = klua_find_event(s, "opens");
	fields.pid = klua_find_field(s, event, "pid");
	fields.comm = klua_find_field(s, event, "comm");
	fields.path = klua_find_field(s, event, "path");
	fields.fd = klua_find_field(s, event, "fd");
	if (klua_subscribe(s, event, on_open, &fields))
		return fail(s);
	fprintf(stderr, "watching %s\n", argv[1]);
	if (loop(s, &fields, argc > 2 ? atol(argv[2]) : -1) < 0)
		return fail(s);
	klua_close(s);
	return 0;
}
