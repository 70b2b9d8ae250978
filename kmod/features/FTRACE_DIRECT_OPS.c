// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Direct calls for all functions of an ftrace_ops. */
#include <linux/ftrace.h>

int kpl_try(struct ftrace_ops *ops, unsigned long addr);
int kpl_try(struct ftrace_ops *ops, unsigned long addr)
{
	return register_ftrace_direct(ops, addr) ?: unregister_ftrace_direct(ops, addr, true);
}
