/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Modules' code and data that go.  ftrace knows the sites of a module until long
 * after the kernel has said that it goes, and those of its start-up code until
 * after it has come up.  What was attached to one then would stay attached to
 * whatever comes to stand there.  Process context.
 */
#ifndef KPL_GOING_H
#define KPL_GOING_H

#include <linux/limits.h>
#include <linux/types.h>

/*
 * Priorities of notifiers: what goes is known before it is taken away; and before anybody refuses a
 * module that comes, since only who was told of that is told that it goes.
 */
#define KPL_MODULES_KNOWN	INT_MAX
#define KPL_MODULES_FIRST	(INT_MAX - 1)

int kpl_going_init(void);
void kpl_going_exit(void);

/*
 * Whether what is there goes, or is gone.  Whoever asks with a lock held that its
 * own notifier takes is told of what begins to go later.
 */
bool kpl_is_going(unsigned long addr);
/* The same, of what a module has on each CPU. */
bool kpl_is_cpus_data_going(unsigned long addr);
/* Whether it goes before its module does: a module that comes up starts by it. */
bool kpl_is_starting(unsigned long addr);

#endif
