// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/cpumask.h>
#include <linux/kdebug.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>

#include "guard.h"
#include "oops.h"
#include "session.h"

/*
 * Any context; the machine may be on its last legs: only what the CPUs' guards
 * point to is read.  CPUs that panic() has stopped are no longer online.
 */
static void kpl_oops_print(void)
{
	u32 cpu;

	for_each_possible_cpu(cpu) {
		const struct kpl_origin *origin = READ_ONCE(per_cpu(kpl_ctx, cpu).origin);
		const struct kpl_session *s = origin ? origin->session : NULL;

		if (s)
			pr_emerg("kprobe_lua: CPU %u runs the handler at %pS, line %u of %s, "
				 "process %d\n", cpu, (void *)(unsigned long)origin->addr,
				 origin->line, s->name, pid_nr(s->opener));
	}
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
