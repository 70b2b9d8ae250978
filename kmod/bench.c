// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What probes cost here: functions with nothing in them, each of which takes
 * another kind of probe, and a loop that calls one.  They are the only text of
 * this module that may be probed (text.lds takes other sections), and nothing
 * else calls them.  Process context.
 */
#include <linux/ktime.h>
#include <linux/linkage.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "core/args.h"
#include "bench.h"

#define KPL_BENCH_TEXT	".text.kpl_bench"
#define KPL_PROBED	noinline __section(KPL_BENCH_TEXT)
#define KPL_BENCH_STEP	512u	/* calls in a row, unless they take longer than a tick */

/* Watched. */
static u64 kpl_bench_stored __aligned(8);

/* Not static: the compiler would give them other names. */
long kpl_bench_stepped(long n);
long kpl_bench_boosted(long n);
long kpl_bench_optimized(long n);
long kpl_bench_traced(long n);
long kpl_bench_stores(long n);

#ifdef CONFIG_X86_64
/*
 * The kernel boosts no instruction with a cs prefix, which here means nothing.
 * To optimize, it moves five bytes of instructions, all of which it must be
 * able to boost.  Without a site of ftrace, a return probe is a kprobe on the
 * first instruction.
 */
#define KPL_BENCH_FUNCTION(name, body)			\
	"	.balign 16, 0xcc\n"			\
	"	.globl " name "\n"			\
	"	.type " name ", @function\n"		\
	name ":\n"					\
	body						\
	"	" ASM_RET				\
	"	.size " name ", . - " name "\n"

asm(".pushsection " KPL_BENCH_TEXT ", \"ax\"\n"
    KPL_BENCH_FUNCTION("kpl_bench_stepped",
		       "	.byte 0x2e\n"
		       "	movq %rdi, %rax\n")
    KPL_BENCH_FUNCTION("kpl_bench_boosted",
		       "	movq %rdi, %rax\n"
		       "	.byte 0x2e\n"
		       "	movq %rax, %rax\n")
    KPL_BENCH_FUNCTION("kpl_bench_optimized",
		       "	movabsq $0x123456789abcdef, %rax\n")
    "	.balign 16, 0xcc\n"
    ".popsection\n");
#else
/* One kind of kprobe. */
KPL_PROBED notrace long kpl_bench_stepped(long n)
{
	return n;
}

KPL_PROBED notrace long kpl_bench_boosted(long n)
{
	return n;
}

KPL_PROBED notrace long kpl_bench_optimized(long n)
{
	return n;
}
#endif

/* Has a site of ftrace, as no other function of the module: see Kbuild. */
KPL_PROBED long kpl_bench_traced(long n)
{
	barrier();
	return n;
}

KPL_PROBED notrace long kpl_bench_stores(long n)
{
	WRITE_ONCE(kpl_bench_stored, n);
	return n;
}

/* Direct calls: an indirect one would cost what mitigations make of it. */
static notrace void kpl_bench_calls(u32 function, u32 nr)
{
#define CALLS(NAME, name)			\
	case KPL_BENCH_##NAME:			\
		while (nr--)			\
			kpl_bench_##name(nr);	\
		break
	switch (function) {
	CALLS(STEPPED, stepped);
	CALLS(BOOSTED, boosted);
	CALLS(OPTIMIZED, optimized);
	CALLS(TRACED, traced);
	CALLS(STORES, stores);
	}
#undef CALLS
}

/* A signal ends it, and so does the session's end. */
notrace int kpl_bench(struct kpl_session *s, struct kpl_bench *arg)
{
	u32 step = 1, left = arg->calls;
	u64 began, before, now;
	int err = kpl_check_bench(arg);

	if (err)
		return err;
	began = now = ktime_get_ns();
	while (left) {
		if (READ_ONCE(s->closing))
			return -ESHUTDOWN;
		if (signal_pending(current))
			return -EINTR;
		before = now;
		kpl_bench_calls(arg->function, step);
		left -= step;
		cond_resched_tasks_rcu_qs();
		now = ktime_get_ns();
		step = now - before < TICK_NSEC / 2 ? min(2 * step, KPL_BENCH_STEP) : 1;
		step = min(step, left);
	}
	arg->ns = now - began;
	return 0;
}
