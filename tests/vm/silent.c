/* SPDX-License-Identifier: MIT */
/*
 * A file that never answers: `silent DIRECTORY N` mounts a file system there and serves it (FUSE). Its child maps a file of
 * it; then nothing is answered any more, a line is printed, and the child calls getpid(2) N times from the file's code and
 * waits. `silent DIRECTORY N close` answers everything but that a file is closed. `silent DIRECTORY N lock` falls silent when
 * the child waits for it with the lock of its memory held (mmap_lock, for writing); the calls come when standard input says
 * something. It ends with the server.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CODE = 2, LOCK }; /* files, by their numbers */

static int device;
static struct {
	volatile bool silent, silent_at_close;
} *is; /* of both processes */
/* mov $39,%eax; syscall; ret */
static const uint8_t code[4096] = { 0xb8, 39, 0, 0, 0, 0x0f, 0x05, 0xc3 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void reply(uint64_t unique, int error, const void *what, size_t size)
{
	struct {
		struct fuse_out_header head;
		uint8_t rest[sizeof(code)];
	} out = { { sizeof(out.head) + size, error, unique }, { 0 } };

	memcpy(out.rest, what, size);
	if (write(device, &out, out.head.len) < 0 && errno != ENOENT)
		die("reply");
}

static struct fuse_attr attributes_of(uint64_t node)
{
	return (struct fuse_attr) {
		.ino = node,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0755,
		.nlink = 1,
		.size = node == FUSE_ROOT_ID ? 0 : sizeof(code),
		.blocks = 8,
		.blksize = 4096,
	};
}

static void tell(void)
{
	printf("silent\n");
	fflush(stdout);
}

static void answer(const struct fuse_in_header *in)
{
	const void *rest = in + 1;
	const struct fuse_open_in *open_in = rest;
	const uint64_t node = strcmp(rest, "lock") ? CODE : LOCK;
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 65536 };
	const struct fuse_entry_out entry = { .nodeid = node, .attr = attributes_of(node) };
	const struct fuse_attr_out attributes = { .attr = attributes_of(in->nodeid) };
	/* Whoever maps it by this descriptor writes first what has been changed by another one. */
	const bool direct = in->nodeid == LOCK && (open_in->flags & O_ACCMODE) == O_RDONLY;
	const struct fuse_open_out opened = { .open_flags = direct ? FOPEN_DIRECT_IO : 0 };
	const struct fuse_statfs_out space = { .st = { .bsize = 4096, .blocks = 1, .namelen = 255 } };

	switch (in->opcode) {
	case FUSE_INIT:
		return reply(in->unique, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return reply(in->unique, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return reply(in->unique, 0, &attributes, sizeof(attributes));
	case FUSE_OPEN:
		return reply(in->unique, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return reply(in->unique, 0, code, sizeof(code));
	case FUSE_STATFS:
		return reply(in->unique, 0, &space, sizeof(space));
	case FUSE_WRITE:
		is->silent = true;
		return tell();
	case FUSE_FLUSH:
		if (is->silent_at_close)
			return;
		/* fall through */
	case FUSE_RELEASE:
		return reply(in->unique, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return reply(in->unique, -ENOSYS, NULL, 0);
	}
}

static void serve(void)
{
	static uint8_t in[1 << 20];

	for (;;) {
		if (read(device, in, sizeof(in)) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			die("/dev/fuse");
		}
		if (!is->silent)
			answer((const void *)in);
	}
}

static void *hold(void *path)
{
	const int writable = open(path, O_RDWR), direct = open(path, O_RDONLY);
	volatile uint8_t *const page = mmap(NULL, sizeof(code), PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0);

	if (page == MAP_FAILED)
		die(path);
	*page = 1;
	mmap(NULL, sizeof(code), PROT_READ, MAP_PRIVATE, direct, 0);
	die("the lock is given back");
	return NULL;
}

/* The caller must need no memory from then on that it does not have. */
static void hold_lock(const char *directory)
{
	static char path[4096];
	pthread_t holder;
	char word;

	snprintf(path, sizeof(path), "%s/lock", directory);
	if (mlockall(MCL_CURRENT))
		die("mlockall");
	pthread_create(&holder, NULL, hold, path);
	if (read(0, &word, 1) != 1)
		die("standard input");
}

int main(int argc, char **argv)
{
	char text[4096];
	bool locks;
	void *mapped;
	long n;
	int file;

	if (argc < 3)
		return 2;
	is = mmap(NULL, sizeof(*is), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	device = open("/dev/fuse", O_RDWR);
	if (device < 0)
		die("/dev/fuse");
	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("silent", argv[1], "fuse", 0, text))
		die(argv[1]);
	if (fork())
		serve();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(device);
	snprintf(text, sizeof(text), "%s/silent.so", argv[1]);
	file = open(text, O_RDONLY);
	mapped = mmap(NULL, sizeof(code), PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	if (mapped == MAP_FAILED)
		die(text);
	(void)*(volatile uint8_t *)mapped;
	close(file);
	n = atol(argv[2]);
	locks = argc > 3 && !strcmp(argv[3], "lock");
	if (locks) {
		hold_lock(argv[1]);
	} else {
		/* What is known of the file's attributes is stale by now: their time was 0. */
		is->silent = argc == 3;
		is->silent_at_close = true;
		tell();
	}
	for (; n; n--)
		((void (*)(void))mapped)();
	pause();
}
