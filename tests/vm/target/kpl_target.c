// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the tests probe: functions whose calls, arguments and contexts are
 * known.  They are called by writing to the parameter `run`:
 *
 *	plain N			kpl_t_plain(i, 2 * i, "plain") for i from 1 to N
 *	bug N			the same, and an oops in an interrupt 100 ms later
 *	many			kpl_t_many() with nine arguments
 *	values N		N times a function of each signature: how many values are wrong
 *	recurse DEPTH		kpl_t_recurse(DEPTH), which calls itself down to 0; there it has
 *				the tracepoint kpl_t_bare
 *	sleep TASKS MS		kpl_t_sleep(MS) in so many tasks: all are in it before the first one
 *				leaves; waits for them
 *	hold TASKS		the same, but they stay in it: kpl_t_sleep(-1) until `wake`
 *	wake			lets them go and waits for them
 *	die TASKS		so many tasks end inside kpl_t_die()
 *	timer N			kpl_t_timer(i), from a timer's soft interrupt
 *	irq N US		kpl_t_irq(i), from its hard one, each so many microseconds (1000)
 *	outer N			kpl_t_outer(i), which calls kpl_t_inner(i)
 *	nmi N			kpl_t_plain() and __sw_hweight32(), which ftrace does not know, N
 *				times as here and N times as if in an NMI, with interrupts off
 *	twelve N		the tracepoint kpl_t_twelve with i, 2, 3, … 11 and "twelfth"
 *	watched N		kpl_t_watch(i) stores i in kpl_t_watched, and reads kpl_t_neighbour
 *	bare N			the tracepoint kpl_t_bare with i
 *	open PATH		opens a file from a kernel thread: 0 or the error
 *	path LEN		makes kpl_t_path a way of 64 directories, each name so long
 *	kprobes N, kretprobes N	registers N of them on kpl_t_f000 and so on, and unregisters them
 *	foreign 1, foreign 2	arms a kprobe with a post handler on kpl_t_plain, or on kpl_t_outer
 *	foreign 0		takes both away; the kernel may fail to, and keep one
 *
 * and what came of it is read from `result`: a number, two times in ns, or the
 * hits of the foreign kprobes' two handlers.  Loaded with held=1, its start-up
 * code, once begun is Y, calls kpl_t_starting(i) until held is 0.  While slow is
 * 1, other modules that have come up or go wait when the rest of the kernel has
 * been told; waits is Y meanwhile.
 */
#include <linux/completion.h>
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/slab.h>

#include "kpl_target.h"

static int kpl_t_switched_on(void)
{
	return 0;
}

static void kpl_t_switched_off(void)
{
}

#define CREATE_TRACE_POINTS
#include "kpl_target_trace.h"

static char result[64];
static DECLARE_COMPLETION(all_done);

/* Tasks in kpl_t_sleep(): how many are to be in it at once, are, and have left. */
static struct task_struct *sleepers[64];
static long nr_sleepers;
static atomic_t inside, left;
static bool awake = true;
static DECLARE_WAIT_QUEUE_HEAD(moved);
/* 8 KB without a zero byte, and one behind them. */
static char __used kpl_t_long[8192 + 1] = { [0 ... 8191] = 'x' };

static u64 kpl_t_watched __aligned(8), kpl_t_neighbour __aligned(8) = 5;

/* The path of a directory that is not there, 64 deep. */
static struct dentry kpl_t_dentries[64 + 1];
static struct vfsmount kpl_t_mount;
static struct path __used kpl_t_path = { .mnt = &kpl_t_mount, .dentry = &kpl_t_dentries[0] };

static int name_dentries(long len)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kpl_t_dentries); i++) {
		struct dentry *d = &kpl_t_dentries[i];

		d->d_parent = i + 1 < ARRAY_SIZE(kpl_t_dentries) ? d + 1 : d;
		d->d_hash.pprev = &d->d_hash.next;
		d->d_name.name = kpl_t_long;
		d->d_name.len = len;
	}
	return 0;
}

/* The empty statement keeps calls from being merged. */
#define KEEP() asm volatile("" ::: "memory")

noinline long kpl_t_plain(long a, long b, const char *name)
{
	KEEP();
	return a + b + name[0];
}

#ifdef CONFIG_X86_64
/* To the kernel, a function begins at the label, too; on the stack there is no way back. */
asm(".pushsection .text\n"
    ".type kpl_t_assembler, @function\n"
    "kpl_t_assembler:\n"
    "	push %rax\n"
    "kpl_t_label:\n"
    "	pop %rax\n"
    "	" ASM_RET
    ".size kpl_t_assembler, . - kpl_t_assembler\n"
    ".popsection");
#endif

/* One store in all, of eight bytes, and one load. */
noinline long kpl_t_watch(long n)
{
	WRITE_ONCE(kpl_t_watched, n);
	return READ_ONCE(kpl_t_neighbour);
}

noinline long kpl_t_many(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	KEEP();
	return a + b + c + d + e + f + g + h + i;
}

/* ---- signatures: each value depends on each argument */
struct kpl_t_pair {
	long a, b;
};

struct kpl_t_triple {
	long a, b, c;
};

noinline long kpl_t_six(long a, long b, long c, long d, long e, long f)
{
	KEEP();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

noinline long kpl_t_args14(long a, long b, long c, long d, long e, long f, long g, long h, long i,
			     long j, long k, long l, long m, long n)
{
	KEEP();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
	       11 * k + 12 * l + 13 * m + 14 * n;
}

noinline long kpl_t_args15(long a, long b, long c, long d, long e, long f, long g, long h, long i,
			    long j, long k, long l, long m, long n, long o)
{
	KEEP();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
	       11 * k + 12 * l + 13 * m + 14 * n + 15 * o;
}

noinline long kpl_t_by_value(long a, struct kpl_t_triple s, long b)
{
	KEEP();
	return a + 3 * s.a + 5 * s.b + 7 * s.c + 11 * b;
}

noinline struct kpl_t_pair kpl_t_pair(long a)
{
	KEEP();
	return (struct kpl_t_pair) { a, 2 * a };
}

noinline struct kpl_t_triple kpl_t_triple(long a)
{
	KEEP();
	return (struct kpl_t_triple) { a, 2 * a, 3 * a };
}

noinline __int128 kpl_t_wide(__int128 a, long b)
{
	KEEP();
	return a * b + 1;
}

noinline long kpl_t_varargs(int nr, ...)
{
	va_list args;
	long sum = 0;

	va_start(args, nr);
	while (nr--)
		sum = 3 * sum + va_arg(args, long);
	va_end(args);
	return sum;
}

static long wrong_values(long n)
{
	struct kpl_t_triple t, by_value = { n, 2, 3 };
	struct kpl_t_pair p;
	__int128 wide;
	long wrong = 0;

	wrong += kpl_t_six(n, 2, 3, 4, 5, 6) != n + 90;
	wrong += kpl_t_many(n, 2, 3, 4, 5, 6, 7, 8, 9) != n + 44;
	wrong += kpl_t_args14(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) != n + 1014;
	wrong += kpl_t_args15(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) != n + 1239;
	wrong += kpl_t_by_value(1, by_value, 4) != 3 * n + 76;
	p = kpl_t_pair(n);
	wrong += p.a != n || p.b != 2 * n;
	t = kpl_t_triple(n);
	wrong += t.a != n || t.b != 2 * n || t.c != 3 * n;
	wide = kpl_t_wide(((__int128)n << 64) | 7, 3);
	wrong += (long)(wide >> 64) != 3 * n || (long)wide != 22;
	wrong += kpl_t_varargs(9, n, 2l, 3l, 4l, 5l, 6l, 7l, 8l, 9l) != 6561 * n + 8196;
	return wrong;
}

noinline long kpl_t_recurse(long depth)
{
	long below = 0;

	KEEP();
	if (depth > 0)
		below = kpl_t_recurse(depth - 1);
	else
		trace_kpl_t_bare(depth);
	KEEP();
	return below + 1;
}

noinline long kpl_t_sleep(long ms)
{
	atomic_inc(&inside);
	wake_up_all(&moved);
	wait_event(moved, READ_ONCE(awake) || atomic_read(&inside) == nr_sleepers);
	if (ms < 0)
		wait_event(moved, READ_ONCE(awake));
	else
		msleep(ms);
	return ms;
}

/* Goes on there by a jump: what replaces where that returns to hides where this one does. */
noinline long kpl_t_tail(long ms)
{
	return kpl_t_sleep(ms);
}

noinline long kpl_t_inner(long n)
{
	KEEP();
	return n;
}

noinline long kpl_t_outer(long n)
{
	long inner = kpl_t_inner(n);

	KEEP();
	return inner + 1;
}

noinline long kpl_t_timer(long n)
{
	KEEP();
	return n;
}

noinline long kpl_t_irq(long n)
{
	KEEP();
	return n;
}

/* ------------------------------------------------------------------ contexts */

static struct timer_list timer;
static struct hrtimer hrtimer;
static ktime_t period;
static long ticks, ticks_wanted;

static void on_timer(struct timer_list *t)
{
	kpl_t_timer(++ticks);
	if (ticks < ticks_wanted)
		mod_timer(&timer, jiffies + 1);
	else
		complete(&all_done);
}

static enum hrtimer_restart on_hrtimer(struct hrtimer *t)
{
	kpl_t_irq(++ticks);
	if (ticks == ticks_wanted) {
		complete(&all_done);
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(t, period);
	return HRTIMER_RESTART;
}

static int sleeper(void *ms)
{
	kpl_t_tail((long)ms);
	atomic_inc(&left);
	wake_up_all(&moved);
	wait_event(moved, kthread_should_stop());
	return 0;
}

/* Not marked as one that does not return. */
noinline long kpl_t_die(long really)
{
	KEEP();
	if (really)
		kthread_complete_and_exit(&all_done, 0);
	return really;
}

static int dier(void *unused)
{
	return kpl_t_die(1);
}

static int run_diers(long tasks)
{
	while (tasks-- > 0) {
		reinit_completion(&all_done);
		if (IS_ERR(kthread_run(dier, NULL, "kpl_dier")))
			return -ENOMEM;
		wait_for_completion(&all_done);
	}
	return 0;
}

static void wake_sleepers(void)
{
	WRITE_ONCE(awake, true);
	wake_up_all(&moved);
	wait_event(moved, atomic_read(&left) == nr_sleepers);
	while (nr_sleepers)
		kthread_stop(sleepers[--nr_sleepers]);
	atomic_set(&left, 0);
}

/* They are in kpl_t_sleep() when this returns, or have come back with ms >= 0. */
static int run_sleepers(long tasks, long ms)
{
	struct task_struct *task;
	long i;

	if (nr_sleepers || tasks < 1 || tasks > ARRAY_SIZE(sleepers))
		return -EINVAL;
	atomic_set(&inside, 0);
	WRITE_ONCE(awake, false);
	nr_sleepers = tasks;
	for (i = 0; i < tasks; i++) {
		task = kthread_run(sleeper, (void *)ms, "kpl_sleeper");
		if (IS_ERR(task)) {
			nr_sleepers = i;
			wake_sleepers();
			return PTR_ERR(task);
		}
		sleepers[i] = task;
	}
	wait_event(moved, atomic_read(ms < 0 ? &inside : &left) == tasks);
	if (ms >= 0)
		wake_sleepers();
	return 0;
}

static int run_ticks(long n, bool hard, long us)
{
	period = ns_to_ktime((us ?: 1000) * NSEC_PER_USEC);
	ticks = 0;
	ticks_wanted = n;
	reinit_completion(&all_done);
	if (hard)
		hrtimer_start(&hrtimer, period, HRTIMER_MODE_REL);
	else
		mod_timer(&timer, jiffies + 1);
	wait_for_completion(&all_done);
	return 0;
}

/* The count that tells NMIs from the rest is all that differs: no real one comes as often. */
static long run_nmi(long n)
{
	int in_nmi[] = { 0, NMI_OFFSET + HARDIRQ_OFFSET };
	unsigned long flags;
	long i, sum = 0;
	u32 k;

	local_irq_save(flags);
	for (k = 0; k < ARRAY_SIZE(in_nmi); k++) {
		__preempt_count_add(in_nmi[k]);
		for (i = 0; i < n; i++)
			sum += kpl_t_plain(i, 0, "nmi") + __sw_hweight32(i);
		__preempt_count_sub(in_nmi[k]);
	}
	local_irq_restore(flags);
	return sum;
}

/* -------------------------------------------------------------- registration */

#define DECLARE(n) long kpl_t_f##n(long a);
FUNCTIONS(DECLARE)
#define BODY(n)						\
	noinline long kpl_t_f##n(long a)		\
	{						\
		KEEP();					\
		return a + 1##n;			\
	}
FUNCTIONS(BODY)
#define ADDRESS(n) kpl_t_f##n,
static long (*const functions[])(long) = { FUNCTIONS(ADDRESS) };

static int nothing(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static int nothing_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

static int time_kprobes(long nr)
{
	struct kprobe *kps = kcalloc(nr, sizeof(*kps), GFP_KERNEL);
	struct kprobe **all = kcalloc(nr, sizeof(*all), GFP_KERNEL);
	u64 began = ktime_get_ns(), armed;
	long i;
	int err = kps && all ? 0 : -ENOMEM;

	for (i = 0; !err && i < nr; i++) {
		kps[i].addr = (kprobe_opcode_t *)functions[i];
		kps[i].pre_handler = nothing;
		all[i] = &kps[i];
		err = register_kprobe(&kps[i]);
	}
	armed = ktime_get_ns();
	if (!err)
		unregister_kprobes(all, nr);
	sprintf(result, "%llu %llu", armed - began, ktime_get_ns() - armed);
	kfree(kps);
	kfree(all);
	return err;
}

static int time_kretprobes(long nr)
{
	struct kretprobe *rps = kcalloc(nr, sizeof(*rps), GFP_KERNEL);
	struct kretprobe **all = kcalloc(nr, sizeof(*all), GFP_KERNEL);
	u64 began = ktime_get_ns(), armed;
	long i;
	int err = rps && all ? 0 : -ENOMEM;

	for (i = 0; !err && i < nr; i++) {
		rps[i].kp.addr = (kprobe_opcode_t *)functions[i];
		rps[i].handler = nothing_returned;
		all[i] = &rps[i];
		err = register_kretprobe(&rps[i]);
	}
	armed = ktime_get_ns();
	if (!err)
		unregister_kretprobes(all, nr);
	sprintf(result, "%llu %llu", armed - began, ktime_get_ns() - armed);
	kfree(rps);
	kfree(all);
	return err;
}

/* ----------------------------------------------------- another one's post handler */

static struct kprobe *foreign[2];	/* on kpl_t_plain, on kpl_t_outer */
static atomic_t foreign_hits[2];

static int foreign_pre(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_inc(&foreign_hits[0]);
	return 0;
}

static void foreign_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&foreign_hits[1]);
}

static int foreign_off(void)
{
	bool kept = false;
	u32 i;

	if (!foreign[0] && !foreign[1])
		return 0;
	for (i = 0; i < ARRAY_SIZE(foreign); i++) {
		if (!foreign[i])
			continue;
		unregister_kprobe(foreign[i]);
		if (foreign[i]->addr)
			kfree(foreign[i]);
		else
			kept = true;
		foreign[i] = NULL;
	}
	if (kept)
		__module_get(THIS_MODULE);
	sprintf(result, "%d %d%s", atomic_xchg(&foreign_hits[0], 0),
		atomic_xchg(&foreign_hits[1], 0), kept ? " kept" : "");
	return 0;
}

static int foreign_on(struct kprobe **kp, void *addr)
{
	int err;

	if (*kp)
		return -EBUSY;
	*kp = kzalloc(sizeof(**kp), GFP_KERNEL);
	if (!*kp)
		return -ENOMEM;
	(*kp)->addr = addr;
	(*kp)->pre_handler = foreign_pre;
	(*kp)->post_handler = foreign_post;
	err = register_kprobe(*kp);
	if (err) {
		kfree(*kp);
		*kp = NULL;
	}
	return err;
}

/* --------------------------------------------------------------------- files */

static int opener(void *path)
{
	struct file *file = filp_open(path, O_RDWR, 0);

	sprintf(result, "%d", PTR_ERR_OR_ZERO(file));
	if (!IS_ERR(file))
		filp_close(file, NULL);
	complete(&all_done);
	return 0;
}

static int run_opener(char *path)
{
	reinit_completion(&all_done);
	if (IS_ERR(kthread_run(opener, path, "kpl_opener")))
		return -ENOMEM;
	wait_for_completion(&all_done);
	return 0;
}

/* ------------------------------------------------------------------- control */

/* A hard interrupt's: a soft one may wait for a thread, which the calls give no CPU. */
static enum hrtimer_restart on_bug(struct hrtimer *t)
{
	WRITE_ONCE(*(long *)NULL, 0);
	return HRTIMER_NORESTART;
}

static struct hrtimer bug_timer;

static int run_set(const char *text, const struct kernel_param *kp)
{
	char what[16] = "", path[32];
	long a = 0, b = 0, i, sum = 0;

	if (sscanf(text, "%15s %ld %ld", what, &a, &b) < 1)
		return -EINVAL;
	if (sscanf(text, "open %31s", path) == 1)
		return run_opener(path);
	if (!strcmp(what, "path"))
		return name_dentries(a);
	if (!strcmp(what, "sleep"))
		return run_sleepers(a, max(b, 0L));
	if (!strcmp(what, "hold"))
		return run_sleepers(a, -1);
	if (!strcmp(what, "wake"))
		return wake_sleepers(), 0;
	if (!strcmp(what, "die"))
		return run_diers(a);
	if (!strcmp(what, "timer") || !strcmp(what, "irq"))
		return run_ticks(a, what[0] == 'i', b);
	if (!strcmp(what, "kprobes") && a <= ARRAY_SIZE(functions))
		return time_kprobes(a);
	if (!strcmp(what, "kretprobes") && a <= ARRAY_SIZE(functions))
		return time_kretprobes(a);
	if (!strcmp(what, "foreign"))
		return !a ? foreign_off() :
		       a == 1 ? foreign_on(&foreign[0], kpl_t_plain) :
				foreign_on(&foreign[1], kpl_t_outer);
	if (!strcmp(what, "bug"))
		hrtimer_start(&bug_timer, ms_to_ktime(100), HRTIMER_MODE_REL_HARD);
	if (!strcmp(what, "nmi"))
		sum = run_nmi(a);
	else if (!strcmp(what, "many"))
		sum = kpl_t_many(101, -102, 103, 104, 105, 106, 107, -108, 109);
	else if (!strcmp(what, "recurse"))
		sum = kpl_t_recurse(a);
	for (i = 1; i <= a; i++) {
		if (!strcmp(what, "plain") || !strcmp(what, "bug"))
			sum += kpl_t_plain(i, 2 * i, "plain");
		else if (!strcmp(what, "outer"))
			sum += kpl_t_outer(i);
		else if (!strcmp(what, "values"))
			sum += wrong_values(i);
		else if (!strcmp(what, "functions"))
			sum += functions[i % ARRAY_SIZE(functions)](i);
		else if (!strcmp(what, "twelve"))
			trace_kpl_t_twelve(i, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "twelfth");
		else if (!strcmp(what, "bare"))
			trace_kpl_t_bare(i);
		else if (!strcmp(what, "watched"))
			sum += kpl_t_watch(i);
	}
	sprintf(result, "%ld", sum);
	return 0;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
module_param_string(result, result, sizeof(result), 0400);

static bool held, begun;
module_param(held, bool, 0600);
module_param(begun, bool, 0400);

static bool slow, waits;
module_param(slow, bool, 0600);
module_param(waits, bool, 0400);

static int on_module(struct notifier_block *nb, unsigned long state, void *mod)
{
	while (mod != THIS_MODULE && state != MODULE_STATE_COMING && READ_ONCE(slow)) {
		waits = true;
		msleep(20);
	}
	waits = false;
	return NOTIFY_DONE;
}

static struct notifier_block modules = { .notifier_call = on_module, .priority = INT_MIN };

noinline __init long kpl_t_starting(long n)
{
	KEEP();
	return n;
}

static int __init kpl_target_init(void)
{
	long i = 0;

	begun = true;
	while (READ_ONCE(held)) {
		kpl_t_starting(++i);
		msleep(20);
	}
	timer_setup(&timer, on_timer, 0);
	hrtimer_init(&hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer.function = on_hrtimer;
	hrtimer_init(&bug_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	bug_timer.function = on_bug;
	return register_module_notifier(&modules);
}

static void __exit kpl_target_exit(void)
{
	unregister_module_notifier(&modules);
	wake_sleepers();
	del_timer_sync(&timer);
	hrtimer_cancel(&hrtimer);
	foreign_off();
}

module_init(kpl_target_init);
module_exit(kpl_target_exit);

MODULE_DESCRIPTION("Functions for kprobe-lua's tests to probe");
MODULE_LICENSE("Dual MIT/GPL");
