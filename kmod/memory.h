/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Reading memory that may not be there.  Any context, preemption off. */
#ifndef KPL_MEMORY_H
#define KPL_MEMORY_H

#include <linux/types.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86_64
/*
 * Kernel addresses: canonical, in the upper half, below the vsyscall page,
 * above which there is nothing.  For these a fault of any kind ends in the
 * exception table.  The ends are for reads of up to 8 bytes.
 */
extern u64 kpl_kernel_first, kpl_kernel_span;

static __always_inline bool kpl_kernel_address(u64 addr)
{
	return addr - kpl_kernel_first <= kpl_kernel_span;
}

/* `type` at `addr` to the variable `value`, or to the label. */
#define kpl_read_kernel(value, type, addr, label)			\
do {									\
	if (unlikely(!kpl_kernel_address(addr)))			\
		goto label;						\
	__get_kernel_nofault(&(value), (type *)(addr), type, label);	\
} while (0)
#else
#define kpl_read_kernel(value, type, addr, label)				\
do {										\
	if (copy_from_kernel_nofault(&(value), (type *)(addr), sizeof(type)))	\
		goto label;							\
} while (0)
#endif

void kpl_memory_init(void);

struct kpl_str;

/* Something did not fit. */
void kpl_count_cut(u64 hit);
/* A read failed: an empty string, and 0. */
u64 kpl_no_string(u64 hit, struct kpl_str *str, u32 reason, u64 addr);

#endif
