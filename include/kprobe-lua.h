/* SPDX-License-Identifier: MIT */
/*
 * libkprobe-lua: probes in a running Linux kernel, written in Lua, in a program of your own.
 *
 * A session takes scripts, arms what they declare and hands records to your functions, in your event loop:
 *
 *	klua_session *s;
 *	int event;
 *
 *	klua_open(NULL, &s);
 *	if (klua_load_file(s, "opens.lua", 0, NULL) || klua_arm(s))
 *		errx(1, "%s", klua_error_text(s));
 *	event = klua_find_event(s, "opens");
 *	klua_subscribe(s, event, on_open, NULL);
 *	while (klua_poll(s, -1, 20) >= 0 && !klua_ended(s, NULL))
 *		;
 *	klua_close(s);
 *
 * Functions that return int give 0 or more, or a negative enum klua_error; klua_error_text() then says what is wrong and
 * what to do. No function writes to a stream, takes a signal, ends the process or keeps anything outside its session.
 *
 * What may be called from where
 *
 *   function                                     in a callback   in another thread (a)   after fork (b)   after an error (c)
 *   klua_version, klua_api_version, klua_strerror     yes              yes                  yes              yes
 *   klua_interrupt                                    yes              yes, at any time     no               yes
 *   klua_poll, klua_arm, klua_load_*, klua_check,
 *     klua_stop, klua_set_option, klua_close          no               yes                  no (d)           yes
 *   klua_record_*                                     of its record    no                   no               yes
 *   klua_list_next, klua_rows_*                       yes              yes                  yes              yes
 *   all else                                          yes              yes                  no               yes
 *
 *   (a) One at a time: calls on one session at the same time are refused (KLUA_ERR_BUSY). Several sessions, each in its own
 *       thread, know nothing of each other.
 *   (b) A session belongs to the process that opened it: KLUA_ERR_FORKED in a child.
 *   (c) A step that fails leaves the session as it was before: what could not be loaded or armed is forgotten, what is
 *       armed goes on. Only its numbers are not given again: klua_event_count(), klua_map_count() and klua_probe_count()
 *       grow, its events and maps are not found (KLUA_ERR_NOT_FOUND), its probes have the state "failed". (Where the first
 *       script fails to load, not even those.) After an error of a callback of the script, klua_poll goes on behind its record.
 *   (d) klua_close in a child frees the child's copy and leaves the parent's session alone. A child that is forked in a
 *       callback leaves by exec() or _exit(): it must not return from the callback.
 *
 * A callback returns: it must not leave by longjmp(). What one of C++ throws is caught, and the call that led to it is made
 * to its end, but gives KLUA_ERR_USAGE.
 *
 * A call from the wrong place or with an argument out of its range returns an error; a session that was closed is told
 * (KLUA_ERR_HANDLE) as long as its memory has no other use. So is a record that was kept (KLUA_ERR_STATE), until the session's
 * next record takes its place or the session is closed.
 */
#ifndef KPROBE_LUA_H
#define KPROBE_LUA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KLUA_API __attribute__((visibility("default")))
#else
#define KLUA_API
#endif

/* Grows with each addition; what is there keeps its meaning for as long as the SONAME stays. */
#define KLUA_API_VERSION 1

KLUA_API const char *klua_version(void);	/* "0.1.0" */
KLUA_API unsigned klua_api_version(void);	/* KLUA_API_VERSION of the library that runs */

/* ------------------------------------------------------------------- errors */

enum klua_error {
	KLUA_OK = 0,
	KLUA_ERR_SCRIPT = -1,	/* the script is wrong, or a function of it raised an error */
	KLUA_ERR_USAGE = -2,	/* an argument is wrong */
	KLUA_ERR_SYSTEM = -3,	/* the machine refuses or lacks something: rights, the module, a file */
	KLUA_ERR_HANDLE = -4,	/* no session, or one that was closed */
	KLUA_ERR_STATE = -5,	/* not now: from a callback, or before or after its time */
	KLUA_ERR_BUSY = -6,	/* another thread is in a call of this session */
	KLUA_ERR_FORKED = -7,	/* the session belongs to the parent process */
	KLUA_ERR_NOT_FOUND = -8,	/* no such event, map, field, key, option */
	KLUA_ERR_TYPE = -9,	/* the value, or the map, is of another kind */
	KLUA_ERR_MEMORY = -10,
};

KLUA_API const char *klua_strerror(int error);	/* in a few words: "not from a callback" … */

/* Structures that the library fills begin with their size, which the caller sets: members may be added at the end. */
struct klua_error_info {
	size_t size;
	int error;		/* enum klua_error */
	const char *file;	/* of the script; NULL: no place in one */
	int line;		/* from 1; 0: none */
	const char *text;	/* without the place */
};

typedef struct klua_session klua_session;

/*
 * What the last call that failed had to say: one line for each error, "file:line: what"; of an error in a callback of the
 * script, several, the traceback. Never NULL. It, and the strings below, stay until the next call that fails. Of a call that
 * takes no session (klua_record_*, klua_rows_*, klua_list_next), or that was refused as KLUA_ERR_BUSY, it is klua_strerror(), in
 * the thread that made the call.
 */
KLUA_API const char *klua_error_text(klua_session *s);
KLUA_API int klua_error_count(klua_session *s);
KLUA_API int klua_error_at(klua_session *s, int index, struct klua_error_info *info);

/* --------------------------------------------------------- opening and closing */

enum klua_note {
	KLUA_NOTE_WARNING = 0,	/* something is not as it was asked for, or should not be */
	KLUA_NOTE_INFO = 1,
	KLUA_NOTE_DETAIL = 2,	/* only with the option "verbose" */
	KLUA_NOTE_STOP = 3,	/* a handler stopped at its hit: "file:line: why (n hits)" */
};

/* All are called within a call of the session, in its thread. Any may be NULL. */
struct klua_callbacks {
	size_t size;		/* sizeof(struct klua_callbacks) */
	void *user;
	/* Text that the script or a handler prints. Not 0: it is not called again, the session ends (a full disk). */
	int (*text)(void *user, const char *text, size_t length);
	void (*note)(void *user, enum klua_note kind, const char *line);
	/* So many more events found no room in a ring. */
	void (*lost)(void *user, uint64_t events);
};

/*
 * Needs no rights and no module: both are asked for by the first klua_arm() that has something to arm. *s is NULL only when
 * there is no memory; else it is to be closed, and has the error's text.
 */
KLUA_API int klua_open(const struct klua_callbacks *callbacks, klua_session **s);
/* Detaches what is armed and frees everything; NULL is nothing. Records that are not delivered are dropped: klua_stop(). */
KLUA_API int klua_close(klua_session *s);

/*
 * Before the first script is loaded. The names are those of the command line, without dashes: "buffer", "max-probes", "pid",
 * "require" (may be given again), "include", "verbose", … ; klua_option_name() counts them up. Values are text: "4M", "1".
 */
KLUA_API int klua_set_option(klua_session *s, const char *name, const char *value);
KLUA_API const char *klua_option_name(int index);	/* NULL: no more */
KLUA_API const char *klua_option_help(int index);

/* ------------------------------------------------------------ loading and arming */

/*
 * Runs a script, which declares probes, maps and events. `argv` is its `arg`. After an error, it has declared nothing.
 * A chunk's name stands in messages. os.exit() is the script's exit(): the process goes on.
 */
KLUA_API int klua_load_file(klua_session *s, const char *path, int argc, const char *const *argv);
KLUA_API int klua_load_string(klua_session *s, const char *code, size_t length, const char *chunk_name, int argc,
			      const char *const *argv);

/*
 * Arms everything that was declared and is not armed yet: all of it, or none. After an error, what could not be armed is
 * forgotten, and nothing of it is left in the kernel; what was armed before goes on. Can be called again and again.
 * After exit(), or a text callback that wanted no more, it still arms: aggregations count, klua_poll() delivers nothing.
 * After klua_stop(): KLUA_ERR_STATE.
 */
KLUA_API int klua_arm(klua_session *s);

/* A handler as klua_check() found it. */
struct klua_handler_info {
	size_t size;
	const char *name;	/* "opens.lua:3 entry of do_sys_openat2"; until the next klua_check */
	uint32_t instructions;
	uint32_t cost;		/* proven, without what loops may repeat */
	uint32_t budget;
};

/*
 * Compiles and verifies what klua_arm() would arm, without module or rights, and leaves it to be armed. Gives the number
 * of handlers, and prints nothing. After an error, it is forgotten as after klua_arm().
 */
KLUA_API int klua_check(klua_session *s);
KLUA_API int klua_checked_handler(klua_session *s, int index, struct klua_handler_info *info);

/* ------------------------------------------------------------------- running */

/*
 * A descriptor for epoll, poll or select: readable when klua_poll() has something to do. Yours to watch, not to read. The same
 * one from klua_open() to klua_close().
 */
KLUA_API int klua_fd(klua_session *s);

/*
 * Waits for at most `wait_ms` (-1: for ever, 0: not at all) until there is something to do, then delivers records, text and
 * reports, and runs the script's timers, for about `deliver_ms` at most. Gives the number of records that were delivered.
 * Errors of the script's own functions are returned one at a time; call again to go on.
 *
 * It arms what callbacks of the script declare, when they have returned; not what was loaded, which waits for klua_arm(), and
 * what callbacks declare meanwhile waits with it. The library's own reads and ioctls are system calls that probes see.
 */
KLUA_API int klua_poll(klua_session *s, int wait_ms, int deliver_ms);
/* Makes the klua_poll() that waits return; when none does, the next one, at once. From any thread, and from a signal handler. */
KLUA_API int klua_interrupt(klua_session *s);

/* 1 when the script, or a handler, called exit(), or the text callback wanted no more; the code is 0 for the latter. */
KLUA_API int klua_ended(klua_session *s, int *exit_code);

/*
 * All probes at once. What klua_probe_disable() or the script has disabled for itself stays so until it is enabled for itself.
 * After klua_stop(), enabling is KLUA_ERR_STATE.
 */
KLUA_API int klua_disable(klua_session *s);
KLUA_API int klua_enable(klua_session *s);

/*
 * The end: detaches all probes, delivers what they sent until then, calls the script's at_exit functions. Maps can still be
 * read, accounts looked at; nothing can be armed any more. An error of a callback is returned, as by klua_poll(): call again to
 * go on behind it.
 */
KLUA_API int klua_stop(klua_session *s);

/* -------------------------------------------------------------------- values */

enum klua_type {
	KLUA_NIL = 0,
	KLUA_BOOL = 1,		/* number: 0 or 1 */
	KLUA_INT = 2,		/* number, signed */
	KLUA_UINT = 3,		/* number, unsigned */
	KLUA_POINTER = 4,	/* number: an address */
	KLUA_SYMBOL = 5,	/* number: an address that has a name: klua_symbol() */
	KLUA_STRING = 6,	/* bytes: `length` bytes, not ended by 0 */
	KLUA_KSTACK = 7,	/* frames: `length` addresses, innermost first */
	KLUA_USTACK = 8,	/* the same, of a process: klua_user_symbol() */
	KLUA_NAMED = 9,		/* number, which text shows by a name: an errno, a signal, a time, a constant */
	KLUA_INET = 10,		/* bytes: an internet address in network order; `length` 4 or 16; 0: of another family */
	KLUA_LIST = 11,		/* `element` says of what: klua_list_next() */
	KLUA_USYMBOL = 12,	/* frames: one address of a process, that has a name: klua_user_symbol() */
};

struct klua_value {
	uint16_t type;		/* enum klua_type */
	uint16_t element;	/* of a list: enum klua_type */
	uint32_t length;	/* bytes of a string, an address or a list; frames of a stack; else 0 */
	union {
		int64_t number;
		uint64_t address;	/* the same, unsigned */
		const char *bytes;
		const uint64_t *frames;
	} as;
};

/*
 * The elements of a list, one by one: *at is 0 for the first, and then left alone. 1; 0: no more; KLUA_ERR_TYPE: no list.
 *
 *	for (at = 0; klua_list_next(&list, &at, &element) > 0;)
 */
KLUA_API int klua_list_next(const struct klua_value *list, uint32_t *at, struct klua_value *element);

/* A field of a record, of a key or of a map's value. */
struct klua_field_info {
	size_t size;
	const char *name;	/* "" for a single value without a name; "1", "2", … of a tuple; the session's string */
	uint32_t type;		/* enum klua_type */
	uint32_t limit;		/* most bytes of a string or list, most frames of a stack */
	int may_be_nil;
};

/* "vfs_read", "vfs_read+0x1a", or "0x…" where there is no symbol. Gives the length, as snprintf() does. */
KLUA_API int klua_symbol(klua_session *s, uint64_t address, char *text, size_t size);

/*
 * "malloc [libc.so.6]", "main+0x1c [server]", "0x4d1a0 [server]" or "0x…" of a KLUA_USTACK's frame by number, or of a
 * KLUA_USYMBOL, whose only frame is 0, while its record or row is valid: what tells the process stands before the frames.
 */
KLUA_API int klua_user_symbol(klua_session *s, const struct klua_value *value, uint32_t frame, char *text, size_t size);

/* -------------------------------------------------------------------- events */

/*
 * Events by number, from 0 on, in the order of their declaration. A number is never given twice.
 *
 * The name is that of the variable by which a handler uses it, known from klua_check() or klua_arm() on; before that, use
 * numbers. Of two events of one name, the one that was declared last is found. Strings are the session's, valid until it
 * is closed or something is loaded, checked or armed in it.
 */
KLUA_API int klua_event_count(klua_session *s);
KLUA_API const char *klua_event_name(klua_session *s, int event);	/* "" when the script gave it none; NULL: no event */
KLUA_API int klua_find_event(klua_session *s, const char *name);

/*
 * The layout of its records stands once a handler that sends it is armed, and before that is KLUA_ERR_STATE: fields by position,
 * in the order of printing.
 */
KLUA_API int klua_field_count(klua_session *s, int event);
KLUA_API int klua_field(klua_session *s, int event, int position, struct klua_field_info *info);
KLUA_API int klua_find_field(klua_session *s, int event, const char *name);

typedef struct klua_record klua_record;

/* Not 0: klua_poll() returns behind this record. The record and all its bytes are valid until it returns. */
typedef int (*klua_record_fn)(void *user, const klua_record *record);

/* Functions of the script that have subscribed are called, too. */
KLUA_API int klua_subscribe(klua_session *s, int event, klua_record_fn fn, void *user);
/* Ends all subscriptions with this function and `user`. */
KLUA_API int klua_unsubscribe(klua_session *s, int event, klua_record_fn fn, void *user);

KLUA_API int klua_record_event(const klua_record *record);
KLUA_API uint64_t klua_record_time(const klua_record *record);	/* ns, CLOCK_MONOTONIC */
KLUA_API uint32_t klua_record_cpu(const klua_record *record);
/* Points into the ring: nothing is copied. */
KLUA_API int klua_record_value(const klua_record *record, int position, struct klua_value *value);
/* As the script's print() shows it, of any type. Gives the length, as snprintf() does. */
KLUA_API int klua_record_text(const klua_record *record, int position, char *text, size_t size);
/* Shorthands for one type; 0 or an empty string where the field is nil or of another. */
KLUA_API int64_t klua_record_int(const klua_record *record, int position);
KLUA_API const char *klua_record_string(const klua_record *record, int position, size_t *length);

/* ---------------------------------------------------------------------- maps */

enum klua_map_kind {
	KLUA_MAP_SHARED = 0,	/* map(): values that handlers and user space set; all others are aggregations */
	KLUA_MAP_COUNT = 1,
	KLUA_MAP_SUM = 2,
	KLUA_MAP_AVG = 3,
	KLUA_MAP_MIN = 4,
	KLUA_MAP_MAX = 5,
	KLUA_MAP_STATS = 6,
	KLUA_MAP_HIST = 7,	/* powers of two */
	KLUA_MAP_LHIST = 8,
};

struct klua_map_info {
	size_t size;
	const char *name;
	uint32_t kind;		/* enum klua_map_kind */
	int keyed;
	int armed;		/* the kernel has it: it can be read */
	int key_fields, value_fields;	/* of what is armed or declared, else 0; value_fields: of KLUA_MAP_SHARED */
	uint64_t lost;		/* updates that found it full */
};

/* Names are as those of events. Fields are known of a map that is armed, and of one whose types the script declares. */
KLUA_API int klua_map_count(klua_session *s);
KLUA_API int klua_find_map(klua_session *s, const char *name);
KLUA_API int klua_map(klua_session *s, int map, struct klua_map_info *info);
KLUA_API int klua_map_key_field(klua_session *s, int map, int position, struct klua_field_info *info);
KLUA_API int klua_map_value_field(klua_session *s, int map, int position, struct klua_field_info *info);

/* Rows that were read: a copy, valid until it is freed, whatever becomes of the session. */
typedef struct klua_rows klua_rows;

/* A snapshot. An aggregation's updates are in it as a whole or not at all. Before the map is armed: KLUA_ERR_STATE. */
KLUA_API int klua_map_read(klua_session *s, int map, klua_rows **rows);
/* Empties an aggregation: every update is in these rows or in later ones. */
KLUA_API int klua_map_take(klua_session *s, int map, klua_rows **rows);
KLUA_API int klua_map_clear(klua_session *s, int map);
KLUA_API void klua_rows_free(klua_rows *rows);

KLUA_API int klua_rows_count(const klua_rows *rows);
KLUA_API int klua_rows_key(const klua_rows *rows, int row, int position, struct klua_value *value);
/* As klua_record_text(). */
KLUA_API int klua_rows_key_text(const klua_rows *rows, int row, int position, char *text, size_t size);
/* Of a shared map's value. */
KLUA_API int klua_rows_value(const klua_rows *rows, int row, int position, struct klua_value *value);
KLUA_API int klua_rows_value_text(const klua_rows *rows, int row, int position, char *text, size_t size);

/* What an aggregation holds for a key; which members mean something follows from its kind. */
struct klua_aggregate {
	size_t size;
	uint64_t count;		/* of updates; COUNT: the count itself */
	int64_t sum;		/* SUM, AVG, STATS */
	int64_t min, max;	/* MIN, MAX, STATS */
	int buckets;		/* HIST, LHIST */
};

/* [low, high); no low, no high: without that end. */
struct klua_bucket {
	size_t size;
	int has_low, has_high;
	int64_t low, high;
	uint64_t count;
};

KLUA_API int klua_rows_aggregate(const klua_rows *rows, int row, struct klua_aggregate *aggregate);
KLUA_API int klua_rows_bucket(const klua_rows *rows, int row, int index, struct klua_bucket *bucket);

/*
 * Of shared maps. `key` has as many elements as the map's key has fields, `values` as its value has, each in the order that
 * klua_map_key_field() and klua_map_value_field() give: a struct's fields by name. KLUA_NIL leaves a field out that may be nil,
 * which is known once the map is armed. An internet address may be text, and in a key, a symbol its name. What is set before
 * the map is armed is set when it is, if the script declared key and value; else KLUA_ERR_STATE. A value of another type is
 * KLUA_ERR_TYPE; another number of fields, or a string that is too long, KLUA_ERR_USAGE.
 */
KLUA_API int klua_map_set(klua_session *s, int map, const struct klua_value *key, int nr_key, const struct klua_value *values,
			  int nr_values);
KLUA_API int klua_map_delete(klua_session *s, int map, const struct klua_value *key, int nr_key);	/* 1; 0: no such key */

/* -------------------------------------------------------------------- probes */

struct klua_counts {
	uint64_t hits, handled, skipped, missed, faults, errors, overruns;
};

struct klua_probe_info {
	size_t size;
	const char *name;	/* "vfs_read", "vfs_read and 9 more"; "" when it is not armed */
	const char *kind;	/* "kprobe", "tracepoint" and so on: as declared */
	/*
	 * "ftrace", "direct", "optimized", "int3", "armed"; "disabled"; "overload": the module has disabled it for the time that it
	 * took; "gone", with its module; "detached"; "failed": it could not be armed; "mixed": not all of its places have the same.
	 * "disabled" before it is armed; after klua_stop(), what it was until then.
	 */
	const char *state;
	const char *file;	/* of its declaration */
	int line;
	int places;		/* how many it stands at */
	struct klua_counts first;	/* pre, or a call's entry */
	struct klua_counts second;	/* post, or returns */
	uint64_t outstanding;	/* calls whose return is still to come */
};

/* Probes by number, in the order of their declaration: what one kprobe{}, kretprobe{}, … declares is one. */
KLUA_API int klua_probe_count(klua_session *s);
/* The strings stay until the next klua_probe(). */
KLUA_API int klua_probe(klua_session *s, int probe, struct klua_probe_info *info);
/* Of a probe that was detached, has failed or is gone: KLUA_ERR_STATE. */
KLUA_API int klua_probe_enable(klua_session *s, int probe);
KLUA_API int klua_probe_disable(klua_session *s, int probe);
KLUA_API int klua_probe_detach(klua_session *s, int probe);	/* for good */

/* ------------------------------------------------------------------- account */

/* Exactly: sent = delivered + lost + left, of all records of the session so far. */
struct klua_record_stats {
	size_t size;
	uint64_t sent, delivered, lost, left;
	uint64_t memory;	/* bytes that the session holds in the kernel */
};

KLUA_API int klua_stats(klua_session *s, struct klua_record_stats *stats);

/* -------------------------------------------------------------------- asking */

/* Not 0 ends it. */
typedef int (*klua_name_fn)(void *user, const char *name);

/*
 * Calls `fn` with each target that a probe can name and that matches: "vfs_*", "ext4:*"; NULL: all. Needs no module, but root
 * and debugfs, which says what can't be probed.
 */
KLUA_API int klua_targets(klua_session *s, const char *glob, klua_name_fn fn, void *user);
/* The C declaration of a function, "module:name" for a module's: from BTF. Gives the length, as snprintf() does. */
KLUA_API int klua_declaration(klua_session *s, const char *function, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
