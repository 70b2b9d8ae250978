/* SPDX-License-Identifier: MIT */
/* Calls that are refused: with which error, what it says, and that nothing has changed. None needs a module. */
#define _GNU_SOURCE
#include "kit.h"

#include <pthread.h>
#include <stdlib.h>

static const char mixed[] =
	"ev, n, u = event(), count(), map()\n"
	"m = map { key = 'int', value = { zz = 'int', aa = 'string[8]', mm = 'bool' } }\n"
	"k = map { key = { 'int', 'string[4]' }, value = 'int' }\n"
	"kprobe('vfs_read', function() ev { a = 1 } n:add() local x = m[1] local y = k[{ 1, 'x' }] local z = u[1] u[3] = 4 end)";
enum { N, U, M, K };	/* its maps */

static struct klua_value number(int64_t n) { return (struct klua_value){ .type = KLUA_INT, .as.number = n }; }
static struct klua_value text(const char *t, uint32_t length)
{
	return (struct klua_value){ .type = KLUA_STRING, .length = length, .as.bytes = t };
}
static struct klua_value boolean(int b) { return (struct klua_value){ .type = KLUA_BOOL, .as.number = b }; }

/* What is declared is known before the map is armed: its fields by name, as they are when it is. */
static void declared_fields(void)
{
	static const struct {
		const char *name;
		uint32_t type, limit;
	} fields[] = { { "aa", KLUA_STRING, 8 }, { "mm", KLUA_BOOL, 0 }, { "zz", KLUA_INT, 0 } };
	struct klua_field_info field = { .size = sizeof(field) };
	struct klua_map_info map = { .size = sizeof(map) };
	int round, i;

	for (round = 0; round < 8; round++) {	/* pairs() has an order of its own in each session */
		klua_session *s = opened(NULL);

		DO(s, load(s, mixed));
		DO(s, klua_map(s, M, &map));
		EQ(map.value_fields, 3);
		EQ(map.armed, 0);
		for (i = 0; i < 3; i++) {
			DO(s, klua_map_value_field(s, M, i, &field));
			OK(!strcmp(field.name, fields[i].name));
			EQ(field.type, fields[i].type);
			EQ(field.limit, fields[i].limit);
		}
		FAILS(s, KLUA_ERR_NOT_FOUND, "no field 3", klua_map_value_field(s, M, 3, &field));
		DO(s, klua_map_key_field(s, K, 1, &field));
		EQ(field.type, KLUA_STRING);
		FAILS(s, KLUA_ERR_STATE, "declares no types", klua_map_value_field(s, U, 0, &field));
		EQ(klua_close(s), 0);
	}
}

static void values_that_do_not_fit(void)
{
	klua_session *s = opened(NULL);
	struct klua_value key = number(1), pair[2] = { number(1), text("x", 1) }, nil = { 0 };
	struct klua_value right[3] = { text("abc", 3), boolean(1), number(7) }, wrong[3];

	DO(s, load(s, mixed));
	DO(s, klua_map_set(s, M, &key, 1, right, 3));
	DO(s, klua_map_set(s, K, pair, 2, &key, 1));
	FAILS(s, KLUA_ERR_TYPE, "element 1 of the key is a number", klua_map_set(s, M, right, 1, right, 3));
	FAILS(s, KLUA_ERR_USAGE, "keys have 1 fields, not 2", klua_map_set(s, M, pair, 2, right, 3));
	FAILS(s, KLUA_ERR_USAGE, "keys have 1 fields, not 0", klua_map_set(s, M, &key, 0, right, 3));
	FAILS(s, KLUA_ERR_USAGE, "keys have 1 fields, not -1", klua_map_set(s, M, &key, -1, right, 3));
	FAILS(s, KLUA_ERR_USAGE, "no key", klua_map_set(s, M, NULL, 1, right, 3));
	FAILS(s, KLUA_ERR_USAGE, "values have 3 fields, not 2", klua_map_set(s, M, &key, 1, right, 2));
	FAILS(s, KLUA_ERR_USAGE, "no value", klua_map_set(s, M, &key, 1, NULL, 3));
	memcpy(wrong, right, sizeof(wrong));
	wrong[0] = number(1);
	FAILS(s, KLUA_ERR_TYPE, "field 'aa' is a string", klua_map_set(s, M, &key, 1, wrong, 3));
	wrong[0].type = 77;
	FAILS(s, KLUA_ERR_TYPE, "not a value of type 77", klua_map_set(s, M, &key, 1, wrong, 3));
	wrong[0] = text("nine bytes", 9);
	FAILS(s, KLUA_ERR_USAGE, "9 bytes are more than the 8 of field 'aa'", klua_map_set(s, M, &key, 1, wrong, 3));
	wrong[0] = text("", UINT32_MAX);
	FAILS(s, KLUA_ERR_USAGE, "are more than the 8", klua_map_set(s, M, &key, 1, wrong, 3));
	wrong[0] = text(NULL, 3);
	FAILS(s, KLUA_ERR_USAGE, "3 bytes at NULL", klua_map_set(s, M, &key, 1, wrong, 3));
	wrong[0] = nil;
	FAILS(s, KLUA_ERR_TYPE, "field 'aa' can't be left out", klua_map_set(s, M, &key, 1, wrong, 3));
	wrong[0] = right[0], wrong[1] = number(1);
	FAILS(s, KLUA_ERR_TYPE, "field 'mm' is true or false", klua_map_set(s, M, &key, 1, wrong, 3));
	FAILS(s, KLUA_ERR_TYPE, "the value is a number", klua_map_set(s, K, pair, 2, right, 1));
	FAILS(s, KLUA_ERR_STATE, "declares no key", klua_map_set(s, U, &key, 1, &key, 1));
	FAILS(s, KLUA_ERR_TYPE, "not an aggregation", klua_map_set(s, N, &key, 1, &key, 1));
	FAILS(s, KLUA_ERR_NOT_FOUND, "no map 9", klua_map_set(s, 9, &key, 1, &key, 1));
	EQ(klua_check(s), 1);	/* and what was set right is no error there */
	EQ(klua_close(s), 0);
}

static int no_record(void *user, const klua_record *record) { return !user && !record; }
static int no_name(void *user, const char *name) { return !user && !name; }

/* What is known only once it is armed. */
static void before_arming(void)
{
	struct klua_field_info field = { .size = sizeof(field) };
	struct klua_value key = number(1);
	klua_session *s = opened(NULL);
	klua_rows *rows = NULL;

	DO(s, load(s, mixed));
	FAILS(s, KLUA_ERR_STATE, "it has no fields", klua_field(s, 0, 0, &field));
	FAILS(s, KLUA_ERR_STATE, "it has no fields", klua_find_field(s, 0, "a"));
	FAILS(s, KLUA_ERR_STATE, "nothing in it", klua_map_read(s, M, &rows));
	FAILS(s, KLUA_ERR_STATE, "nothing in it", klua_map_take(s, N, &rows));
	FAILS(s, KLUA_ERR_TYPE, "only aggregations", klua_map_take(s, M, &rows));
	FAILS(s, KLUA_ERR_STATE, "nothing in it", klua_map_clear(s, N));
	FAILS(s, KLUA_ERR_STATE, "nothing in it", klua_map_delete(s, M, &key, 1));
	OK(!rows);
	EQ(klua_close(s), 0);
}

static void arguments(void)
{
	const char *const words[] = { "a", NULL, "c" };
	struct { size_t size; } large = { 1 << 20 };
	klua_session *s = opened(NULL);

	FAILS(s, KLUA_ERR_NOT_FOUND, "there are: require", klua_set_option(s, "nosuch", "1"));
	FAILS(s, KLUA_ERR_SYSTEM, "/tmp", klua_load_file(s, "/tmp", 0, NULL));
	FAILS(s, KLUA_ERR_USAGE, "argv[1] is NULL", klua_load_string(s, "", 0, "x", 3, words));
	FAILS(s, KLUA_ERR_SYSTEM, "/nonexistent.lua", klua_load_file(s, "/nonexistent.lua", 0, NULL));
	OK(!strstr(klua_error_text(s), "can be probed"));
	DO(s, load(s, mixed));
	FAILS(s, KLUA_ERR_USAGE, "no name", klua_find_event(s, NULL));
	FAILS(s, KLUA_ERR_USAGE, "no name", klua_find_map(s, NULL));
	FAILS(s, KLUA_ERR_USAGE, "no name", klua_find_field(s, 0, NULL));
	FAILS(s, KLUA_ERR_USAGE, "no function", klua_unsubscribe(s, 0, NULL, NULL));
	EQ(klua_subscribe(s, 0, no_record, NULL), 0);
	EQ(klua_targets(s, "", no_name, NULL), KLUA_ERR_USAGE);
	FAILS(s, KLUA_ERR_USAGE, "NULL", klua_map(s, M, NULL));
	FAILS(s, KLUA_ERR_USAGE, "size is not set", klua_map(s, M, &(struct klua_map_info){ 0 }));
	FAILS(s, KLUA_ERR_USAGE, "out of range", klua_map(s, M, (struct klua_map_info *)&large));
	EQ(klua_close(s), 0);
}

static void *refused_there(void *s)
{
	EQ(klua_map_count(s), KLUA_ERR_BUSY);
	OK(!strcmp(klua_error_text(s), klua_strerror(KLUA_ERR_BUSY)));
	return NULL;
}

static int other_thread(void *user, const char *line, size_t length)
{
	pthread_t thread;

	(void)line, (void)length;
	pthread_create(&thread, NULL, refused_there, *(klua_session **)user);
	pthread_join(thread, NULL);
	return 0;
}

/* The text is that of the last call that failed, also where that has no session. */
static void texts(void)
{
	struct klua_value list = { .type = KLUA_LIST, .element = KLUA_INT, .length = 16 }, element;
	struct klua_error_info info = { .size = sizeof(info) };
	klua_session *s = NULL;
	struct klua_callbacks callbacks = { .size = sizeof(callbacks), .user = &s, .text = other_thread };
	uint32_t at = 0;

	EQ(klua_open(&callbacks, &s), 0);
	FAILS(s, KLUA_ERR_SCRIPT, "test.lua:1: mine", load(s, "error 'mine'"));
	FAILS(s, KLUA_ERR_USAGE, "an argument is wrong", klua_list_next(&list, &at, &element));	/* without bytes */
	EQ(klua_error_count(s), 1);
	DO(s, klua_error_at(s, 0, &info));
	EQ(info.error, KLUA_ERR_USAGE);
	OK(!info.file && !strcmp(info.text, "an argument is wrong"));
	FAILS(s, KLUA_ERR_USAGE, "an argument is wrong", klua_rows_count(NULL));
	FAILS(s, KLUA_ERR_NOT_FOUND, "none of that name or number", klua_record_value(NULL, 0, &element));
	FAILS(s, KLUA_ERR_SCRIPT, "test.lua:1: again", load(s, "error 'again'"));
	DO(s, load(s, "print 'from another thread'"));
	EQ(klua_close(s), 0);
}

/* What fails leaves no number behind in a session that was new, and takes nothing from one that was not. */
static void failed_loads(void)
{
	struct klua_probe_info probe = { .size = sizeof(probe) };
	klua_session *s = opened(NULL);
	int i;

	for (i = 0; i < 3; i++) {
		FAILS(s, KLUA_ERR_SCRIPT, "late", load(s, "m, e = map(), event() kprobe('vfs_read', function() e { a = 1 } end) error 'late'"));
		EQ(klua_event_count(s) + klua_map_count(s) + klua_probe_count(s), 0);
		DO(s, klua_set_option(s, "buffer", "1M"));
	}
	DO(s, load(s, "n, e = count(), event() kprobe('vfs_read', function() n:add() e { a = 1 } end)"));
	FAILS(s, KLUA_ERR_STATE, "before the first script", klua_set_option(s, "buffer", "1M"));
	FAILS(s, KLUA_ERR_SCRIPT, "late", load(s, "x, y = map(), event() kprobe('vfs_read', function() end) error 'late'"));
	EQ(klua_event_count(s), 2);	/* numbers are not given again */
	EQ(klua_check(s), 1);	/* what was loaded before is still to be armed */
	DO(s, klua_probe(s, 1, &probe));
	OK(!strcmp(probe.state, "failed"));
	FAILS(s, KLUA_ERR_STATE, "could not be armed", klua_probe_enable(s, 1));
	FAILS(s, KLUA_ERR_NOT_FOUND, "no event 1", klua_field_count(s, 1));
	FAILS(s, KLUA_ERR_NOT_FOUND, "no map 1", klua_map_clear(s, 1));
	EQ(klua_event_name(s, 1) != NULL, 0);
	EQ(klua_find_event(s, "e"), 0);
	EQ(klua_close(s), 0);
}

/* Without a device, arming fails and nothing stays allocated (a build with sanitizers tells); with one, it is armed. */
static void arming_fails(void)
{
	klua_session *s = opened(NULL);
	int i;

	for (i = 0; i < 3; i++) {
		int armed;

		DO(s, load(s, "kprobe('vfs_read', function() end)"));
		armed = klua_arm(s);
		OK(armed == 0 || armed == KLUA_ERR_SYSTEM);
	}
	EQ(klua_close(s), 0);
}

const struct test refusal_tests[] = {
	{ "declared fields", declared_fields },
	{ "values that do not fit", values_that_do_not_fit },
	{ "before arming", before_arming },
	{ "arguments", arguments },
	{ "texts", texts },
	{ "failed loads", failed_loads },
	{ "arming fails", arming_fails },
	{ NULL, NULL },
};
