/* SPDX-License-Identifier: MIT */
/* Records, maps and probes, with the truth to compare with. */
#define _GNU_SOURCE
#include "kit.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

struct seen {
	klua_session *s;
	int event, comm, who, func, gone;
	int records, halt_at;
	uint64_t last;
};

static int on_record(void *user, const klua_record *record)
{
	struct seen *seen = user;
	struct klua_value value;
	size_t length;
	const char *comm = klua_record_string(record, seen->comm, &length);

	EQ(klua_record_event(record), seen->event);
	OK(length == 4 && !memcmp(comm, "test", 4));
	EQ(klua_record_int(record, seen->who), seen->records);
	EQ(klua_record_value(record, seen->func, &value), 0);
	EQ(value.type, KLUA_SYMBOL);
	OK(value.as.address > INT64_MAX);
	EQ(klua_record_value(record, seen->gone, &value), 0);
	EQ(value.type, seen->records % 2 ? KLUA_INT : KLUA_NIL);
	EQ(klua_record_value(record, 99, &value), KLUA_ERR_NOT_FOUND);
	OK(klua_record_time(record) > seen->last);
	seen->last = klua_record_time(record);
	seen->records++;
	if (seen->records == 1) {	/* what may be called from here */
		EQ(klua_poll(seen->s, 0, 0), KLUA_ERR_STATE);
		EQ(klua_event_count(seen->s), 1);
	}
	return seen->records == seen->halt_at;
}

struct once {
	klua_session *s;
	int event, calls;
};

static int only_once(void *user, const klua_record *record)
{
	struct once *once = user;

	(void)record;
	once->calls++;
	DO(once->s, klua_unsubscribe(once->s, once->event, only_once, once));
	return 0;
}

static int count_calls(void *user, const klua_record *record)
{
	(void)record;
	++*(int *)user;
	return 0;
}

/* A function that unsubscribes itself takes no record from those behind it. */
static void subscribers_leave(void)
{
	klua_session *s = opened(NULL);
	struct once first = { .s = s }, second = { .s = s };
	int all = 0;

	arm(s, "seen = event{ 'n' }\n"
	       "kprobe(" CALLED ", function(p) seen{ n = 1 } end)");
	first.event = second.event = event_of(s, "seen");
	DO(s, klua_subscribe(s, first.event, only_once, &first));
	DO(s, klua_subscribe(s, first.event, only_once, &second));
	DO(s, klua_subscribe(s, first.event, count_calls, &all));
	call(3);
	EQ(poll_for(s, 3), 3);
	EQ(first.calls, 1);
	EQ(second.calls, 1);
	EQ(all, 3);
	EQ(klua_close(s), 0);
}

static void records(void)
{
	struct heard heard;
	klua_session *s = opened(&heard);
	struct seen seen = { .s = s, .halt_at = 30 };
	struct klua_field_info field = { .size = sizeof(field) };
	char name[64];
	int i;

	prctl(PR_SET_NAME, "test");
	arm(s, "seen = event{ 'who', 'comm' }\n"
	       "kprobe(" CALLED ", function(p) local r = ffi.cast('struct pt_regs *', p.arg[1]); local n = r.si\n"
	       "  seen{ comm = comm(), who = n, func = p.func, odd = n % 2 == 1 and 7 or nil } end)\n"
	       "seen:each(function(e) if e.who % 10 == 0 then print(e.who, e.comm) end end)");
	seen.event = event_of(s, "seen");
	EQ(klua_field_count(s, seen.event), 4);
	seen.comm = klua_find_field(s, seen.event, "comm");
	seen.who = klua_find_field(s, seen.event, "who");
	seen.func = klua_find_field(s, seen.event, "func");
	seen.gone = klua_find_field(s, seen.event, "odd");
	EQ(seen.who, 0);
	DO(s, klua_field(s, seen.event, seen.gone, &field));
	OK(field.may_be_nil && field.type == KLUA_INT && !strcmp(field.name, "odd"));
	FAILS(s, KLUA_ERR_NOT_FOUND, "it has: who, comm", klua_find_field(s, seen.event, "nosuch"));
	DO(s, klua_subscribe(s, seen.event, on_record, &seen));
	for (i = 0; i < 50; i++)
		getpriority(PRIO_PROCESS, i);
	for (i = 0; i < 200 && seen.records < 30; i++)
		klua_poll(s, 100, 20);
	EQ(seen.records, 30);	/* it asked to return there */
	EQ(poll_for(s, 20), 20);
	EQ(seen.records, 50);
	OK(!strcmp(heard.text, "0\ttest\n10\ttest\n20\ttest\n30\ttest\n40\ttest\n"));
	DO(s, klua_unsubscribe(s, seen.event, on_record, &seen));
	EQ(klua_unsubscribe(s, seen.event, on_record, &seen), KLUA_ERR_NOT_FOUND);
	call(5);
	EQ(poll_for(s, 5), 5);
	EQ(seen.records, 50);
	DO(s, klua_symbol(s, 1, name, sizeof(name)));
	EQ(klua_close(s), 0);
}

static void aggregations(void)
{
	klua_session *s = opened(NULL);
	struct klua_aggregate value = { .size = sizeof(value) };
	struct klua_bucket bucket = { .size = sizeof(bucket) };
	struct klua_value key;
	klua_rows *rows = NULL, *none = NULL;
	uint64_t counted = 0;
	int i;

	arm(s, "by, h = stats(), hist()\n"
	       "kprobe(" CALLED ", function(p) local n = ffi.cast('struct pt_regs *', p.arg[1]).si\n"
	       "  by[{ comm(), n % 2 }]:add(n); h:add(n) end)");
	for (i = 0; i < 16; i++)
		getpriority(PRIO_PROCESS, i);
	DO(s, klua_map_read(s, map_of(s, "by"), &rows));
	EQ(klua_rows_count(rows), 2);
	for (i = 0; i < 2; i++) {
		int odd;

		EQ(klua_rows_key(rows, i, 0, &key), 0);
		OK(key.type == KLUA_STRING && key.length == 4 && !memcmp(key.as.bytes, "test", 4));
		EQ(klua_rows_key(rows, i, 1, &key), 0);
		odd = key.as.number == 1;
		EQ(klua_rows_aggregate(rows, i, &value), 0);
		EQ(value.count, 8);
		EQ(value.sum, odd ? 64 : 56);
		EQ(value.min, odd);
		EQ(value.max, odd ? 15 : 14);
		EQ(klua_rows_key(rows, i, 2, &key), KLUA_ERR_NOT_FOUND);
	}
	EQ(klua_rows_key(rows, 2, 0, &key), KLUA_ERR_NOT_FOUND);
	DO(s, klua_map_take(s, map_of(s, "h"), &none));
	EQ(klua_rows_aggregate(none, 0, &value), 0);
	for (i = 0; i < value.buckets; i++) {
		EQ(klua_rows_bucket(none, 0, i, &bucket), 0);
		counted += bucket.count;
		if (bucket.has_low && bucket.low == 8) {
			EQ(bucket.high, 16);
			EQ(bucket.count, 8);
		}
	}
	EQ(counted, 16);
	klua_rows_free(none);
	EQ(klua_close(s), 0);
	/* The copy outlives the session. */
	EQ(klua_rows_key(rows, 0, 0, &key), 0);
	OK(!memcmp(key.as.bytes, "test", 4));
	klua_rows_free(rows);
}

/* A record's stack and symbol of this process, named while the record is there. */
static int on_stack(void *user, const klua_record *record)
{
	klua_session *s = user;
	struct klua_value value;
	char name[256];

	EQ(klua_record_value(record, 0, &value), 0);
	EQ(value.type, KLUA_USYMBOL);
	EQ(value.length, 1);
	EQ(value.as.frames[0], (uintptr_t)on_stack);
	DO(s, klua_user_symbol(s, &value, 0, name, sizeof(name)));
	OK(strstr(name, "on_stack [") == name);
	FAILS(s, KLUA_ERR_USAGE, "no frame 1 of 1", klua_user_symbol(s, &value, 1, name, sizeof(name)));
	EQ(klua_record_value(record, 1, &value), 0);
	EQ(value.type, KLUA_USTACK);
	OK(value.length >= 1 && value.length <= 3);
	DO(s, klua_user_symbol(s, &value, 0, name, sizeof(name)));
	OK(strstr(name, "getpriority") && strstr(name, " [libc"));
	value.type = KLUA_KSTACK;
	FAILS(s, KLUA_ERR_USAGE, "neither a stack nor a symbol of a process", klua_user_symbol(s, &value, 0, name, sizeof(name)));
	return 0;
}

static void stacks(void)
{
	klua_session *s = opened(NULL);
	klua_rows *rows = NULL;
	struct klua_value key;
	char script[512], name[256];

	snprintf(script, sizeof(script), "seen, by = event{ 'at', 'stack' }, count()\n"
		 "kprobe(" CALLED ", function(p) seen{ at = usym(%lu), stack = ustack(3) } by[usym(%lu)]:add() end)",
		 (unsigned long)on_stack, (unsigned long)on_stack);
	arm(s, script);
	DO(s, klua_subscribe(s, event_of(s, "seen"), on_stack, s));
	call(3);
	EQ(poll_for(s, 3), 3);
	DO(s, klua_map_read(s, map_of(s, "by"), &rows));
	EQ(klua_rows_count(rows), 1);
	EQ(klua_rows_key(rows, 0, 0, &key), 0);
	EQ(key.type, KLUA_USYMBOL);
	DO(s, klua_user_symbol(s, &key, 0, name, sizeof(name)));
	OK(strstr(name, "on_stack [") == name);
	klua_rows_free(rows);
	EQ(klua_close(s), 0);
}

static struct klua_value number(int64_t n) { return (struct klua_value){ .type = KLUA_INT, .as.number = n }; }

static void shared(void)
{
	klua_session *s = opened(NULL);
	struct klua_map_info info = { .size = sizeof(info) };
	struct klua_value key = number(7), value = number(70), got;
	klua_rows *rows = NULL;
	int map;

	DO(s, load(s, "want = map{ key = 'int', value = 'int' }; got = count()\n"
		      "kprobe(" CALLED ", function(p) local n = ffi.cast('struct pt_regs *', p.arg[1]).si\n"
		      "  local w = want[n]; if w then got[w]:add() end end)"));
	EQ(klua_check(s), 1);	/* gives them their names */
	map = map_of(s, "want");
	DO(s, klua_map_set(s, map, &key, 1, &value, 1));	/* before it is there */
	DO(s, klua_arm(s));
	key = number(8), value = number(80);
	DO(s, klua_map_set(s, map, &key, 1, &value, 1));
	FAILS(s, KLUA_ERR_USAGE, "have 1 fields, not 2", klua_map_set(s, map, &key, 1, &value, 2));
	DO(s, klua_map(s, map, &info));
	EQ(info.kind, KLUA_MAP_SHARED);
	EQ(info.value_fields, 1);
	getpriority(PRIO_PROCESS, 7);
	getpriority(PRIO_PROCESS, 8);
	getpriority(PRIO_PROCESS, 9);
	DO(s, klua_map_read(s, map, &rows));
	EQ(klua_rows_count(rows), 2);
	EQ(klua_rows_value(rows, 0, 0, &got), 0);
	OK(got.as.number == 70 || got.as.number == 80);
	klua_rows_free(rows);
	EQ(klua_map_delete(s, map, &key, 1), 1);
	EQ(klua_map_delete(s, map, &key, 1), 0);
	DO(s, klua_map_read(s, map_of(s, "got"), &rows));
	EQ(klua_rows_count(rows), 2);
	klua_rows_free(rows);
	EQ(klua_close(s), 0);
}

/* A struct's fields have one order, before the map is armed and after. */
static void struct_values(void)
{
	static const char code[] = "m = map{ key = 'int', value = { cc = 'int', aa = 'int', bb = 'int' } }\n"
				   "kprobe(" CALLED ", function() local x = m[1]; if x then m[2] = { aa = x.aa, bb = x.bb, cc = x.cc } end end)";
	struct klua_value key = number(1), values[3] = { number(10), number(20), number(30) }, got;
	struct klua_value lacking[3] = { number(1), { 0 }, number(3) }, truth = { .type = KLUA_BOOL };
	klua_rows *rows = NULL;
	int round, i;

	for (round = 0; round < 4; round++) {
		klua_session *s = opened(NULL);

		DO(s, load(s, code));
		if (round % 2)
			DO(s, klua_map_set(s, 0, &key, 1, values, 3));
		DO(s, klua_arm(s));
		if (!(round % 2))
			DO(s, klua_map_set(s, 0, &key, 1, values, 3));
		DO(s, klua_map_read(s, 0, &rows));
		for (i = 0; i < 3; i++) {
			struct klua_field_info field = { .size = sizeof(field) };

			DO(s, klua_map_value_field(s, 0, i, &field));
			EQ(field.name[0], 'a' + i);
			EQ(klua_rows_value(rows, 0, i, &got), 0);
			EQ(got.as.number, 10 * (i + 1));
		}
		klua_rows_free(rows);
		FAILS(s, KLUA_ERR_TYPE, "can't be left out", klua_map_set(s, 0, &key, 1, lacking, 3));
		FAILS(s, KLUA_ERR_TYPE, "is a number", klua_map_set(s, 0, &truth, 1, values, 3));
		FAILS(s, KLUA_ERR_USAGE, "keys have 1 fields, not 2", klua_map_delete(s, 0, values, 2));
		EQ(klua_close(s), 0);
	}
}

/* Enabling all does not enable what was disabled for itself. */
static void disabled_on_purpose(void)
{
	klua_session *s = opened(NULL);

	arm(s, "a, b = count(), count()\nkprobe(" CALLED ", function() a:add() end)\nkprobe(" CALLED ", function() b:add() end)");
	DO(s, klua_probe_disable(s, 0));
	call(2);
	DO(s, klua_disable(s));
	call(2);
	DO(s, klua_enable(s));
	call(3);
	EQ(total(s, "a"), 0);
	EQ(total(s, "b"), 5);
	DO(s, klua_probe_enable(s, 0));
	call(1);
	EQ(total(s, "a"), 1);
	EQ(klua_close(s), 0);
}

static void probes(void)
{
	klua_session *s = opened(NULL);
	struct klua_probe_info info = { .size = sizeof(info) };

	arm(s, "n = count()\nkprobe(" CALLED ", function() n:add() end)");
	call(5);
	DO(s, klua_disable(s));
	call(5);
	DO(s, klua_probe(s, 0, &info));
	OK(!strcmp(info.state, "disabled") && !strcmp(info.kind, "kprobe") && info.line == 2);
	DO(s, klua_enable(s));
	call(2);
	DO(s, klua_probe(s, 0, &info));
	EQ(info.first.hits, 7);
	EQ(info.places, 1);
	OK(!strcmp(info.name, "__x64_sys_getpriority"));
	DO(s, klua_probe_detach(s, 0));
	call(5);
	FAILS(s, KLUA_ERR_STATE, "declare it again", klua_probe_enable(s, 0));
	DO(s, klua_probe(s, 0, &info));
	EQ(info.first.hits, 7);
	EQ(total(s, "n"), 7);
	FAILS(s, KLUA_ERR_NOT_FOUND, "no probe 1", klua_probe(s, 1, &info));
	EQ(klua_close(s), 0);
}

const struct test data_tests[] = {
	{ "records", records },
	{ "subscribers leave", subscribers_leave },
	{ "aggregations", aggregations },
	{ "stacks of processes", stacks },
	{ "shared maps", shared },
	{ "struct values", struct_values },
	{ "disabled on purpose", disabled_on_purpose },
	{ "probes", probes },
	{ NULL, NULL },
};
