/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The functions, and the list of those that exist to be many. */
#ifndef KPL_TARGET_H
#define KPL_TARGET_H

long kpl_t_plain(long a, long b, const char *name);
long kpl_t_many(long a, long b, long c, long d, long e, long f, long g, long h, long i);
long kpl_t_six(long a, long b, long c, long d, long e, long f);
long kpl_t_args14(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		    long k, long l, long m, long n);
long kpl_t_args15(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		   long k, long l, long m, long n, long o);
struct kpl_t_pair;
struct kpl_t_triple;
long kpl_t_by_value(long a, struct kpl_t_triple s, long b);
struct kpl_t_pair kpl_t_pair(long a);
struct kpl_t_triple kpl_t_triple(long a);
__int128 kpl_t_wide(__int128 a, long b);
long kpl_t_varargs(int nr, ...);
long kpl_t_recurse(long depth);
long kpl_t_sleep(long ms);
long kpl_t_tail(long ms);
long kpl_t_inner(long n);
long kpl_t_outer(long n);
long kpl_t_timer(long n);
long kpl_t_die(long really);
long kpl_t_irq(long n);
long kpl_t_starting(long n);
long kpl_t_watch(long n);

/* F(000) to F(199) */
#define TEN(F, d) \
	F(d##0) F(d##1) F(d##2) F(d##3) F(d##4) F(d##5) F(d##6) F(d##7) F(d##8) F(d##9)
#define HUNDRED(F, d) \
	TEN(F, d##0) TEN(F, d##1) TEN(F, d##2) TEN(F, d##3) TEN(F, d##4) \
	TEN(F, d##5) TEN(F, d##6) TEN(F, d##7) TEN(F, d##8) TEN(F, d##9)
#define FUNCTIONS(F) HUNDRED(F, 0) HUNDRED(F, 1)

#endif
