// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/cpumask.h>
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>
#include <linux/uaccess.h>

#include "guard.h"
#include "oops.h"
#include "session.h"

/* A handler that the kernel has died in keeps its CPU's guard, though its session may be gone. */
static void kpl_oops_print_cpu(u32 cpu)
{
	const struct kpl_origin *running = READ_ONCE(per_cpu(kpl_ctx, cpu).origin);
	char name[KPL_TITLE_SIZE] = "";
	struct kpl_origin origin;
	pid_t opener;

	if (!running || copy_from_kernel_nofault(&origin, running, sizeof(origin)) ||
	    !origin.session ||
	    copy_from_kernel_nofault(name, origin.session->name, sizeof(name) - 1) ||
	    copy_from_kernel_nofault(&opener, &origin.session->opener_nr, sizeof(opener)))
		return;
	pr_emerg("kprobe_lua: CPU %u runs the handler at %pS, line %u of %*pE, process %d\n",
		 cpu, (void *)(unsigned long)origin.addr, origin.line, (int)strlen(name), name,
		 opener);
}

/*
 * Any context; the machine may be on its last legs: only what the CPUs' guards
 * point to is read.  CPUs that panic() has stopped are no longer online.
 */
static void kpl_oops_print(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu)
		kpl_oops_print_cpu(cpu);
}

static int kpl_oops_die(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == DIE_OOPS)
		kpl_oops_print();
	return NOTIFY_DONE;
}

static int kpl_oops_panic(struct notifier_block *block, unsigned long event, void *data)
{
	kpl_oops_print();
	return NOTIFY_DONE;
}

static struct notifier_block kpl_die_block = { .notifier_call = kpl_oops_die };
static struct notifier_block kpl_panic_block = { .notifier_call = kpl_oops_panic };

void kpl_oops_init(void)
{
	register_die_notifier(&kpl_die_block);
	atomic_notifier_chain_register(&panic_notifier_list, &kpl_panic_block);
}

void kpl_oops_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &kpl_panic_block);
	unregister_die_notifier(&kpl_die_block);
}
