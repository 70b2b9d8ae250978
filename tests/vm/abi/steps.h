/* SPDX-License-Identifier: MIT */
/*
 * What a process may do with the device, step by step: the same words for a
 * program of 64 bits, whose calls are its own or those of a 32-bit program
 * (int 0x80), and for one of 32 bits (client32).  It needs no C library there.
 *
 *	fd=N		the words that follow are about this descriptor
 *	open		about one that is opened now
 *	closed=ERROR	the device can't be opened, to write or to read
 *	info		KPL_IOC_INFO succeeds
 *	works		so does a call
 *	ring		a ring is set up, and can be mapped
 *	refused=ERROR	each call of the device's, by the module's own table, and a mapping fail: of
 *			the ring, if there is one
 *	begins=ERROR	the same, without the calls that go on in a kernel that is locked down
 *	caps=NAME,…	the process has these capabilities from now on, and no others
 *	user=N		it is this user's
 *	namespace	it enters a user namespace of its own, where it has all capabilities
 *	uring		an io_uring is set up; a worker of the kernel's does what follows
 *	uring-open, uring-closed=ERROR		as above
 *	uring-command=ERROR			a command for the descriptor fails
 *	wait		a byte is written to standard output, and one is read from standard input
 */
#ifndef ABI_STEPS_H
#define ABI_STEPS_H

/* Until the first that goes wrong, which is told on stderr: then 1, else 0. */
int steps(char **words);

/* What `refused` and, without `all`, `begins` do; how many calls did something else. */
int refused(int fd, int error, int all);

#ifdef __x86_64__
extern int steps_bits;	/* 64; 32: as a program of 32 bits calls */
#endif
#if defined(__x86_64__) || defined(__i386__)
/* A call by int 0x80, with the numbers of 32-bit programs; the result, or less than 0. */
long call_32(long nr, long a, long b, long c, long d, long e, long f);
#endif

#endif
