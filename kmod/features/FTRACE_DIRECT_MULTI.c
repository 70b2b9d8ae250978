// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The same, in kernels that also have them for a single address. */
#include <linux/ftrace.h>

int kpl_try(struct ftrace_ops *ops, unsigned long addr);
int kpl_try(struct ftrace_ops *ops, unsigned long addr)
{
	return register_ftrace_direct_multi(ops, addr) ?: unregister_ftrace_direct_multi(ops, addr);
}
