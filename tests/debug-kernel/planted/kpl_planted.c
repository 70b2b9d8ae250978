// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Commits one fault as it is loaded, its parameter `fault`, for a debug kernel
 * to notice.  None of them harms what comes after it.  What reports name stands
 * outside of the start-up code, whose names go with it.
 */
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

static char *fault = "none";
module_param(fault, charp, 0400);

/* ---- memory */
static noinline void kpl_read_behind(char *p, u32 size)
{
	OPTIMIZER_HIDE_VAR(p);
	if (p)
		READ_ONCE(p[size]);
}

static void commit_kasan(void)
{
	char *p = kmalloc(40, GFP_KERNEL);

	kpl_read_behind(p, 40);
	kfree(p);
}

static void commit_kasan_freed(void)
{
	char *p = kmalloc(40, GFP_KERNEL), *freed = p;

	OPTIMIZER_HIDE_VAR(freed);
	kfree(p);
	kpl_read_behind(freed, 0);
}

static void commit_kasan_vmalloc(void)
{
	char *p = vmalloc(40);

	kpl_read_behind(p, 40);
	vfree(p);
}

/* More than one: what a register or a stack still holds is no leak. */
static noinline void commit_leak(void)
{
	u32 i;

	for (i = 0; i < 16; i++) {
		void *lost = kmalloc(40, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(lost);
	}
}

/* ---- locks */
static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static noinline void kpl_take(struct mutex *outer, struct mutex *inner)
{
	mutex_lock(outer);
	mutex_lock(inner);
	mutex_unlock(inner);
	mutex_unlock(outer);
}

static void commit_lock_order(void)
{
	kpl_take(&first, &second);
	kpl_take(&second, &first);
}

static DEFINE_RAW_SPINLOCK(raw);
static DEFINE_SPINLOCK(spin);

static noinline void kpl_in_interrupt(struct irq_work *work)
{
	raw_spin_lock(&raw);
	raw_spin_unlock(&raw);
}

static void commit_lock_irq(void)
{
	static struct irq_work work = IRQ_WORK_INIT_HARD(kpl_in_interrupt);

	raw_spin_lock(&raw);
	raw_spin_unlock(&raw);
	irq_work_queue(&work);
	irq_work_sync(&work);
}

static noinline void commit_lock_nesting(void)
{
	raw_spin_lock(&raw);
	spin_lock(&spin);
	spin_unlock(&spin);
	raw_spin_unlock(&raw);
}

/* ---- contexts */
static noinline void commit_sleep(void)
{
	preempt_disable();
	kfree(kmalloc(40, GFP_KERNEL));
	preempt_enable();
}

static int number;
static int __rcu *shared = (int __rcu *)&number;

static noinline void commit_rcu(void)
{
	READ_ONCE(*rcu_dereference(shared));
}

static int cpu;

static noinline void commit_preempt(void)
{
	WRITE_ONCE(cpu, smp_processor_id());
}

/* ---- arithmetic */
static noinline int kpl_shift(int by)
{
	return 1 << by;
}

static void commit_ubsan(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	WRITE_ONCE(number, kpl_shift(by));
}

/* ---- data that two CPUs write at once: for a second, as such a kernel looks at samples */
static unsigned long counter;

static noinline void kpl_count(void)
{
	counter++;
	cond_resched();
}

static int other_cpu(void *unused)
{
	while (!kthread_should_stop())
		kpl_count();
	return 0;
}

static void commit_race(void)
{
	struct task_struct *task = kthread_run(other_cpu, NULL, "kpl_planted");
	unsigned long until = jiffies + HZ;

	if (IS_ERR(task))
		return;
	while (time_before(jiffies, until))
		kpl_count();
	kthread_stop(task);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "kasan", commit_kasan },
	{ "kasan-freed", commit_kasan_freed },
	{ "kasan-vmalloc", commit_kasan_vmalloc },
	{ "leak", commit_leak },
	{ "lock-order", commit_lock_order },
	{ "lock-irq", commit_lock_irq },
	{ "lock-nesting", commit_lock_nesting },
	{ "sleep", commit_sleep },
	{ "rcu", commit_rcu },
	{ "preempt", commit_preempt },
	{ "ubsan", commit_ubsan },
	{ "race", commit_race },
};

static int __init kpl_planted_init(void)
{
	u32 i;

	if (!strcmp(fault, "none"))
		return 0;
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(fault, faults[i].name))
			continue;
		faults[i].commit();
		return 0;
	}
	return -EINVAL;
}

static void __exit kpl_planted_exit(void)
{
}

module_init(kpl_planted_init);
module_exit(kpl_planted_exit);

MODULE_DESCRIPTION("A fault for a debug kernel to notice");
MODULE_LICENSE("Dual MIT/GPL");
