/* SPDX-License-Identifier: MIT */
/* What the library's tests share: checks that count, sessions on code, calls to probe. */
#ifndef LIBRARY_KIT_H
#define LIBRARY_KIT_H

#include <kprobe-lua.h>

#include <stdio.h>
#include <string.h>

extern _Thread_local const char *test_name;
void check_failed(void);

#define EQ(a, b)									\
	do {										\
		long long a_ = (long long)(a), b_ = (long long)(b);			\
		if (a_ != b_) {								\
			check_failed();							\
			printf("%s: %s:%d: %s is %lld, not %s (%lld)\n", test_name,	\
			       __FILE__, __LINE__, #a, a_, #b, b_);			\
		}									\
	} while (0)
#define OK(condition) EQ(!!(condition), 1)
/* A call of the library that must succeed. */
#define DO(s, call)									\
	do {										\
		int r_ = (call);							\
		if (r_ < 0) {								\
			check_failed();							\
			printf("%s: %s:%d: %s: %s\n", test_name, __FILE__, __LINE__,	\
			       #call, klua_error_text(s));				\
		}									\
	} while (0)
/* It must fail with this error, and text that has this in it. */
#define FAILS(s, error, has, call)							\
	do {										\
		EQ(call, error);							\
		if (!strstr(klua_error_text(s), has)) {					\
			check_failed();							\
			printf("%s: %s:%d: \"%s\" does not say \"%s\"\n", test_name,	\
			       __FILE__, __LINE__, klua_error_text(s), has);		\
		}									\
	} while (0)

/* What a session's callbacks were given. */
struct heard {
	char text[4096], notes[4096];
	unsigned long lost;
	int refuse;	/* the text callback wants no more */
	int texts;	/* how often it was called */
};

klua_session *opened(struct heard *heard);
int load(klua_session *s, const char *code);
/* Loads and arms, which must succeed. */
void arm(klua_session *s, const char *code);
/* The number of the event, map or field, which must be there. */
int event_of(klua_session *s, const char *name);
int map_of(klua_session *s, const char *name);

/* This process alone calls the probed function: n times. */
#define CALLED "\"__x64_sys_getpriority\""
void call(unsigned n);
/* Polls until this many records were delivered, or 10 s have passed. Gives how many. */
int poll_for(klua_session *s, int records);
uint64_t memory_of(klua_session *s);
/* The value of an aggregation without a key. */
uint64_t total(klua_session *s, const char *name);

/* Sessions opened, armed (or only checked) and closed, `count` times. */
void cycles(int count, int armed);

struct test {
	const char *name;
	void (*run)(void);
};
/* Without a module, and with one. */
extern const struct test host_tests[], refusal_tests[], step_tests[], data_tests[], life_tests[];

#endif
