// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The stubs' module: who has which stub, what its static calls lead to, and
 * when the last call has left its text.  Process context, unless it says
 * otherwise.
 *
 * Calls are counted when they enter a stub and when they leave it.  With none
 * registered, no more enter: equal sums say that nobody is inside.  A task that
 * died in a probed function never leaves.  When the sums stay different, all
 * stacks are searched for the stubs' frames: if there are none, the difference
 * is of the dead.  Where a call returns to tells nothing: other tracers put
 * their own addresses there.
 */
#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/static_call.h>
#include <linux/stop_machine.h>
#include <linux/workqueue.h>

#include "kept.h"
#include "stubs.h"
#include "words.h"

/* What the assembly reads and writes; nobody else's. */
extern struct kpl_stub kpl_stub_all[KPL_STUBS];
struct kpl_stub kpl_stub_all[KPL_STUBS] = { [0 ... KPL_STUBS - 1] = { .call = 1 } };
DECLARE_PER_CPU(unsigned long, kpl_stub_entered);
DECLARE_PER_CPU(unsigned long, kpl_stub_left);
DEFINE_PER_CPU(unsigned long, kpl_stub_entered);
DEFINE_PER_CPU(unsigned long, kpl_stub_left);
extern const unsigned long kpl_stub_table[KPL_STUBS];	/* their text */

/* --------------------------------------------------------------- static calls */

#define KPL_OF_ONE(M)	KPL_EACH_ONE(M) KPL_EACH_ONE_STACK(M)
#define KPL_OF_MANY(M)	KPL_EACH_MANY(M) KPL_EACH_MANY_STACK(M)

typedef void kpl_body_fn(void);

#define KPL_DEFINE(n) \
	DEFINE_STATIC_CALL_NULL(kpl_enter_##n, kpl_enter_fn); \
	DEFINE_STATIC_CALL_NULL(kpl_exit_##n, kpl_exit_fn);
#define KPL_DEFINE_BODY(n) \
	DEFINE_STATIC_CALL_NULL(kpl_body_##n, kpl_body_fn);
KPL_OF_ONE(KPL_DEFINE)
KPL_OF_MANY(KPL_DEFINE)
KPL_OF_ONE(KPL_DEFINE_BODY)

struct kpl_static_call {
	struct static_call_key *key;
	void *tramp;
};

#define KPL_CALL_OF(name)	{ &STATIC_CALL_KEY(name), STATIC_CALL_TRAMP_ADDR(name) }
#define KPL_ENTER(n)		KPL_CALL_OF(kpl_enter_##n),
#define KPL_EXIT(n)		KPL_CALL_OF(kpl_exit_##n),
#define KPL_BODY(n)		KPL_CALL_OF(kpl_body_##n),
static const struct kpl_static_call kpl_enters[] = { KPL_OF_ONE(KPL_ENTER) KPL_OF_MANY(KPL_ENTER) };
static const struct kpl_static_call kpl_exits[] = { KPL_OF_ONE(KPL_EXIT) KPL_OF_MANY(KPL_EXIT) };
static const struct kpl_static_call kpl_bodies[] = { KPL_OF_ONE(KPL_BODY) };

static_assert(ARRAY_SIZE(kpl_enters) == KPL_STUBS && ARRAY_SIZE(kpl_exits) == KPL_STUBS);
static_assert(ARRAY_SIZE(kpl_bodies) == KPL_STUBS_ONE + KPL_STUBS_ONE_STACK);

static void kpl_call_set(const struct kpl_static_call *call, void *to)
{
	if (call->key->func != to)
		__static_call_update(call->key, call->tramp, to);
}

/* ------------------------------------------------------------ who is inside */

static u64 kpl_stub_sum(unsigned long __percpu *counter)
{
	u64 sum = 0;
	u32 cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(*per_cpu_ptr(counter, cpu));
	return sum;
}

static u64 kpl_stub_dead;	/* calls of tasks that died inside */
static u32 kpl_serial;		/* grows by 2 with each aim: half of what tells calls apart */

/* Calls under way, or of the dead.  Who has left is read first: nobody seems to who has not. */
static u64 kpl_stubs_busy(void)
{
	u64 left = kpl_stub_sum(&kpl_stub_left);

	smp_rmb();
	return kpl_stub_sum(&kpl_stub_entered) - left - kpl_stub_dead;
}

#define KPL_INSIDE_SHOWN	32

struct kpl_inside {
	pid_t pid;
	char comm[TASK_COMM_LEN];
	unsigned long func;	/* about where it is; 0: not known */
};

struct kpl_search {
	u32 nr;			/* calls that were found */
	struct kpl_inside shown[KPL_INSIDE_SHOWN];
};

/* Which stub's frame a word is in; KPL_STUBS: none's. */
static u32 kpl_stub_of(unsigned long word)
{
	unsigned long at = word - (unsigned long)kpl_stub_all;

	return at < sizeof(kpl_stub_all) && at % sizeof(*kpl_stub_all) == 0 ?
	       at / sizeof(*kpl_stub_all) : KPL_STUBS;
}

/* Copies of its address lie elsewhere, too: a frame has the number of an aim. */
static bool kpl_is_frame(const unsigned long *at)
{
	const struct kpl_frame *frame = container_of(at, struct kpl_frame, regs.orig_ax);
	unsigned long call;
	u32 serial;

	if (copy_from_kernel_nofault(&call, &frame->call, sizeof(call)))
		return false;
	serial = call & ~1u;	/* odd: its exit is not wanted; it is inside all the same */
	return serial && (s32)(READ_ONCE(kpl_serial) - serial) >= 0;
}

static unsigned long kpl_inside_of(u32 stub, const unsigned long *at)
{
	const struct kpl_frame *frame = container_of(at, struct kpl_frame, regs.orig_ax);
	bool many = stub >= KPL_STUBS_ONE + KPL_STUBS_ONE_STACK;
	/* Of many, a caller's frame pointer lies between. */
	const void *from = many ? (unsigned long *)(frame + 1) + 1 : (void *)&frame->call;
	unsigned long word;

	if (copy_from_kernel_nofault(&word, from, sizeof(word)))
		return 0;
	return many ? word : word >> 32 | ~0ul << 32;
}

static void kpl_search_found(struct kpl_search *search, struct task_struct *task, u32 stub,
			     const unsigned long *at)
{
	struct kpl_inside *one;

	if (search->nr < KPL_INSIDE_SHOWN) {
		one = &search->shown[search->nr];
		one->pid = task->pid;
		memcpy(one->comm, task->comm, sizeof(one->comm));
		one->func = kpl_inside_of(stub, at);
	}
	search->nr++;
}

#define KPL_SEARCH_WORDS	32

/*
 * What is left of an earlier call looks like one, until it is overwritten.  A task
 * that runs, or ends, meanwhile has what lies there then.
 */
static void kpl_search_stack(struct kpl_search *search, struct task_struct *task)
{
	const unsigned long *page = READ_ONCE(task->stack);
	const unsigned long *top = (void *)page + THREAD_SIZE - KPL_FRAME_SIZE;
	const unsigned long *at = (void *)ALIGN_DOWN(READ_ONCE(task->thread.sp), sizeof(*at));
	unsigned long words[KPL_SEARCH_WORDS];
	u32 i, nr;

	for (; page && at >= page && at < top; at += nr) {
		nr = min_t(u64, top - at, KPL_SEARCH_WORDS);
		if (copy_from_kernel_nofault(words, at, nr * sizeof(*at)))
			return;
		for (i = 0; i < nr; i++) {
			u32 stub = kpl_stub_of(words[i]);

			if (stub != KPL_STUBS && kpl_is_frame(at + i))
				kpl_search_found(search, task, stub, at + i);
		}
	}
}

/*
 * Each CPU's idle task, which is in no list; NULL: not seen yet.  The first
 * CPU's is where all tasks come from; the others' are seen from there.
 */
static DEFINE_PER_CPU(struct task_struct *, kpl_idle);

/* On the CPU itself, from an interrupt. */
static void kpl_idle_see(void *unused)
{
	/* is_idle_task() is true of threads that inject idleness, too. */
	if (!current->pid)
		this_cpu_write(kpl_idle, current);
}

/* That of a CPU that is off begins anew if it comes back, and returns to nothing. */
static bool kpl_idle_known(void)
{
	bool known = true;
	u32 cpu;

	cpus_read_lock();
	per_cpu(kpl_idle, 0) = &init_task;
	for_each_online_cpu(cpu) {
		if (!per_cpu(kpl_idle, cpu))
			smp_call_function_single(cpu, kpl_idle_see, NULL, 1);
		known &= !!per_cpu(kpl_idle, cpu);
	}
	cpus_read_unlock();
	return known;
}

/* As long as it may take a CPU to be idle for a moment; seldom, since it interrupts them. */
static bool kpl_idle_seen(void)
{
	u32 tries;

	for (tries = 0; tries < 50; tries++) {
		if (kpl_idle_known())
			return true;
		msleep(20);
	}
	return false;
}

/* What a task that runs was inside when it was last switched away from says nothing. */
static bool kpl_is_running(const struct task_struct *task)
{
#ifdef CONFIG_SMP
	return READ_ONCE(task->on_cpu);
#else
	return task == current;
#endif
}

/* Both are still in the list of all. */
static bool kpl_search_rest(struct task_struct *leader, struct task_struct *task)
{
	bool listed;

	get_task_struct(leader);
	get_task_struct(task);
	rcu_read_unlock();
	cond_resched_tasks_rcu_qs();
	rcu_read_lock();
	listed = pid_alive(leader) && pid_alive(task);
	put_task_struct(task);
	put_task_struct(leader);
	return listed;
}

/*
 * Whether somebody is seen inside, as long as nothing is stopped.  Who is not
 * seen may be there nevertheless, and who is seen may have left.
 */
static bool kpl_any_seen(struct kpl_search *search)
{
	struct task_struct *leader, *task;
	u32 nr = 0;

	search->nr = 0;
	rcu_read_lock();
	for_each_process_thread(leader, task) {
		if (!kpl_is_running(task))
			kpl_search_stack(search, task);
		if (search->nr || (++nr % 256 == 0 && !kpl_search_rest(leader, task)))
			goto out;
	}
out:
	rcu_read_unlock();
	return search->nr;
}

/*
 * All other CPUs are stopped: what they ran has been switched away from, and no
 * interrupt is under way.
 */
static int kpl_search_all(void *arg)
{
	struct kpl_search *search = arg;
	struct task_struct *leader, *task;
	u32 cpu, nr = 0;

	search->nr = 0;
	for_each_online_cpu(cpu)
		if (per_cpu(kpl_idle, cpu))
			kpl_search_stack(search, per_cpu(kpl_idle, cpu));
	for_each_process_thread(leader, task) {
		if (++nr % 1024 == 0)
			touch_nmi_watchdog();
		/* One that is dead for good returns nowhere, and may have no stack any more. */
		if (task != current && READ_ONCE(task->__state) != TASK_DEAD &&
		    refcount_read(&task->stack_refcount))
			kpl_search_stack(search, task);
	}
	return 0;
}

/* ------------------------------------------------------------------ staying */

static DEFINE_MUTEX(kpl_stubs_lock);
static DECLARE_BITMAP(kpl_stubs_taken, KPL_STUBS);
static bool kpl_staying;	/* the module can't be unloaded */
static u32 kpl_polls;		/* since the last stub was given back */

static void kpl_drain(struct work_struct *work);
static DECLARE_DELAYED_WORK(kpl_drain_work, kpl_drain);

/* Whatever was in a stub's text, and not in a function that it calls, has left it. */
static void kpl_stubs_wait(void)
{
	synchronize_rcu_tasks_rude();
	synchronize_rcu_tasks();
}

/* No stub is taken; the number of the last function that one was aimed at. */
static bool kpl_stubs_unused(u32 *serial)
{
	bool unused;

	mutex_lock(&kpl_stubs_lock);
	*serial = kpl_serial;
	unused = kpl_staying && bitmap_empty(kpl_stubs_taken, KPL_STUBS);
	mutex_unlock(&kpl_stubs_lock);
	return unused;
}

/* Nor was one aimed at anything since that number: nobody has entered. */
static bool kpl_stubs_still_unused(u32 serial)
{
	u32 now;

	return kpl_stubs_unused(&now) && now == serial;
}

/*
 * A task that exits leaves the list of tasks before it dies, and may be inside
 * meanwhile: the wait is for those, too, and no other enters any more.
 */
static bool kpl_all_dead(u32 serial)
{
	struct kpl_search *search = kmalloc(sizeof(*search), GFP_KERNEL);
	u64 busy = kpl_stubs_busy();
	bool dead = false;

	if (!search)
		return false;
	if (!kpl_any_seen(search)) {
		kpl_stubs_wait();
		/* A CPU that is always busy keeps its idle task to itself: then another time. */
		if (kpl_idle_seen() && !stop_machine(kpl_search_all, search, NULL))
			dead = !search->nr;
	}
	kfree(search);
	/* Who has left since makes the difference smaller than what is written off: try again. */
	if (!dead || kpl_stubs_busy() != busy || !kpl_stubs_still_unused(serial))
		return false;
	pr_info("kprobe_lua_stubs: %llu calls of tasks that died in them\n", busy);
	kpl_stub_dead += busy;
	return true;
}

/*
 * After 2 s for the first time, and then seldom: to search may stop all CPUs, 3 ms
 * for each thousand threads.
 */
static bool kpl_time_to_search(void)
{
	return kpl_polls >= 8 && is_power_of_2(kpl_polls);
}

/*
 * The first CPU's idle task alone is known unseen, and the CPU that the work runs on
 * is not idle to show its own: while the first one is off, no death is written off.
 */
static int kpl_drain_cpu(void)
{
	return cpu_online(0) ? 0 : WORK_CPU_UNBOUND;
}

/* The waits are without the lock: whoever takes a stub meanwhile need not wait, too. */
static void kpl_drain(struct work_struct *work)
{
	bool empty;
	u32 serial;

	if (!kpl_stubs_unused(&serial))
		return;
	kpl_polls++;
	empty = !kpl_stubs_busy() || (kpl_time_to_search() && kpl_all_dead(serial));
	if (empty)
		kpl_stubs_wait();	/* between the last count and the end of the text */
	if (!kpl_stubs_still_unused(serial))
		return;
	if (!empty) {
		schedule_delayed_work_on(kpl_drain_cpu(), &kpl_drain_work,
					 msecs_to_jiffies(min(64u * kpl_polls, 4096u)));
		return;
	}
	mutex_lock(&kpl_stubs_lock);
	if (bitmap_empty(kpl_stubs_taken, KPL_STUBS) && serial == kpl_serial) {
		kpl_staying = false;
		module_put(THIS_MODULE);
	}
	mutex_unlock(&kpl_stubs_lock);
}

/* -------------------------------------------------------------------- taking */

static struct kpl_stub *kpl_stub_take(enum kpl_stub_kind kind)
{
	static const u32 first[KPL_STUB_KINDS + 1] = {
		0, KPL_STUBS_ONE, KPL_STUBS_ONE + KPL_STUBS_ONE_STACK,
		KPL_STUBS - KPL_STUBS_MANY_STACK, KPL_STUBS
	};
	struct kpl_stub *stub = NULL;
	u32 nr;

	mutex_lock(&kpl_stubs_lock);
	nr = find_next_zero_bit(kpl_stubs_taken, first[kind + 1], first[kind]);
	if (nr < first[kind + 1]) {
		__set_bit(nr, kpl_stubs_taken);
		stub = &kpl_stub_all[nr];
		if (!kpl_staying)
			__module_get(THIS_MODULE);	/* the caller, too, holds it */
		kpl_staying = true;
	}
	mutex_unlock(&kpl_stubs_lock);
	return stub;
}

static unsigned long kpl_stub_aim(struct kpl_stub *stub, unsigned long behind,
				  kpl_enter_fn *enter, kpl_exit_fn *exit)
{
	u32 nr = stub - kpl_stub_all;

	mutex_lock(&kpl_stubs_lock);
	kpl_call_set(&kpl_enters[nr], enter);
	kpl_call_set(&kpl_exits[nr], exit);
	if (nr < ARRAY_SIZE(kpl_bodies))
		kpl_call_set(&kpl_bodies[nr], (void *)behind);
	kpl_serial += 2;
	/* The kernel's text is in the last 2 GB: half of an address tells the function. */
	WRITE_ONCE(stub->call, behind << 32 | kpl_serial);
	mutex_unlock(&kpl_stubs_lock);
	return kpl_stub_table[nr];
}

static void kpl_stub_end(struct kpl_stub *stub)
{
	WRITE_ONCE(stub->call, 1);
}

static void kpl_stub_give(struct kpl_stub *stub)
{
	mutex_lock(&kpl_stubs_lock);
	__clear_bit(stub - kpl_stub_all, kpl_stubs_taken);
	kpl_polls = 0;
	mod_delayed_work_on(kpl_drain_cpu(), system_wq, &kpl_drain_work, 0);
	mutex_unlock(&kpl_stubs_lock);
}

static void kpl_stubs_leave(void)
{
	u32 i;

	mutex_lock(&kpl_stubs_lock);
	for (i = 0; i < KPL_STUBS; i++) {
		kpl_call_set(&kpl_enters[i], NULL);
		kpl_call_set(&kpl_exits[i], NULL);
	}
	mutex_unlock(&kpl_stubs_lock);
	kpl_stubs_wait();
}

const struct kpl_stubs kpl_stubs = {
	.abi = KPL_STUBS_ABI,
	.take = kpl_stub_take,
	.aim = kpl_stub_aim,
	.end = kpl_stub_end,
	.give = kpl_stub_give,
	.leave = kpl_stubs_leave,
};
EXPORT_SYMBOL_GPL(kpl_stubs);

/* ------------------------------------------------------------------- module */

/* A line for each call under way, the first ones: task, function, command, with tabs between. */
static int kpl_calls_show(char *buffer, const struct kernel_param *kp)
{
	struct kpl_search *search = kmalloc(sizeof(*search), GFP_KERNEL);
	int len = 0, err;
	u32 i;

	if (!search)
		return -ENOMEM;
	search->nr = 0;
	err = !kpl_stubs_busy() ? 0 : stop_machine(kpl_search_all, search, NULL);
	for (i = 0; !err && i < min_t(u32, search->nr, KPL_INSIDE_SHOWN); i++) {
		char *comm = search->shown[i].comm;

		kpl_printable(comm, sizeof(search->shown[i].comm), comm);
		len += scnprintf(buffer + len, PAGE_SIZE - len, "%d\t%ps\t%s\n",
				 search->shown[i].pid, (void *)search->shown[i].func, comm);
	}
	kfree(search);
	return err ?: len;
}

static const struct kernel_param_ops kpl_calls_ops = { .get = kpl_calls_show };
module_param_cb(calls, &kpl_calls_ops, NULL, 0400);
MODULE_PARM_DESC(calls, "Calls under way of functions that have or had return probes");

static int __init kpl_stubs_init(void)
{
	kpl_kept_init();
	return 0;
}

static void __exit kpl_stubs_exit(void)
{
	kpl_kept_exit();
	cancel_delayed_work_sync(&kpl_drain_work);
}

module_init(kpl_stubs_init);
module_exit(kpl_stubs_exit);

MODULE_DESCRIPTION("What kprobe_lua's direct return probes call functions through");
MODULE_LICENSE("Dual MIT/GPL");
