/* SPDX-License-Identifier: MIT */
/*
 * A file that never answers: `silent DIRECTORY N` mounts a file system there that it serves itself (FUSE), maps a file of it,
 * answers nothing from then on, prints a line, and calls getpid(2) N times from the file's code; then it waits. With a third
 * argument, it answers everything but that a file is closed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int device;
static volatile bool silent, silent_at_close;
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

/* All names are of the one file. */
static void answer(const struct fuse_in_header *in)
{
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 65536 };
	const struct fuse_entry_out entry = { .nodeid = 2, .attr = attributes_of(2) };
	const struct fuse_attr_out attributes = { .attr = attributes_of(in->nodeid) };
	const struct fuse_open_out opened = { 0 };
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
	case FUSE_FLUSH:
		if (silent_at_close)
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

static void *serve(void *unused)
{
	static uint8_t in[1 << 20];

	(void)unused;
	for (;;) {
		if (read(device, in, sizeof(in)) < 0) {
			if (errno == EINTR || errno == ENOENT)
				continue;
			die("/dev/fuse");
		}
		if (!silent)
			answer((const void *)in);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char text[4096];
	pthread_t server;
	void *mapped;
	long n;
	int file;

	if (argc < 3)
		return 2;
	device = open("/dev/fuse", O_RDWR);
	if (device < 0)
		die("/dev/fuse");
	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("silent", argv[1], "fuse", 0, text))
		die(argv[1]);
	pthread_create(&server, NULL, serve, NULL);
	snprintf(text, sizeof(text), "%s/silent.so", argv[1]);
	file = open(text, O_RDONLY);
	mapped = mmap(NULL, sizeof(code), PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
	if (mapped == MAP_FAILED)
		die(text);
	(void)*(volatile uint8_t *)mapped;
	close(file);
	/* What is known of the file's attributes is stale by now: their time was 0. */
	silent = argc == 3;
	silent_at_close = true;
	printf("silent\n");
	fflush(stdout);
	for (n = atol(argv[2]); n; n--)
		((void (*)(void))mapped)();
	pause();
}
