/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Reading memory that may not be there.  Any context, preemption off. */
#ifndef KPL_MEMORY_H
#define KPL_MEMORY_H

#include <linux/types.h>
#include <linux/uaccess.h>

#include "guard.h"

/*
 * Kernel addresses, on x86: canonical, in the upper half, below the vsyscall
 * page, above which there is nothing.  For these a fault of any kind ends in the
 * exception table.  The ends are for reads of up to 8 bytes.
 */
extern u64 kpl_kernel_first, kpl_kernel_span;

static __always_inline bool kpl_kernel_address(u64 addr)
{
	return addr - kpl_kernel_first <= kpl_kernel_span;
}

/* `type` at `addr`, which is a kernel address, to the variable `value`, or to the label. */
#ifdef CONFIG_X86_64
#define kpl_load_kernel(value, type, addr, label)			\
	__get_kernel_nofault(&(value), (type *)(addr), type, label)
#else
#define kpl_load_kernel(value, type, addr, label)				\
do {										\
	if (copy_from_kernel_nofault(&(value), (type *)(addr), sizeof(type)))	\
		goto label;							\
} while (0)
#endif

/* The same, whatever the address. */
#define kpl_read_kernel(value, type, addr, label)			\
do {									\
	if (unlikely(!kpl_kernel_address(addr)))			\
		goto label;						\
	kpl_load_kernel(value, type, addr, label);			\
} while (0)

void kpl_memory_init(void);

/* The kernel's memory at an address that user space has given; any context, for any kind of address. */
bool kpl_peek(void *to, u64 addr, u32 size);

struct kpl_str;

/* Something did not fit. */
void kpl_count_cut(u64 hit);
/* A read failed: an empty string, and 0. */
u64 kpl_no_string(u64 hit, struct kpl_str *str, u32 reason, u64 addr);

/*
 * Copies a string of the kernel up to its end or the limit; `to` has room for
 * the limit, rounded up to words.  Its length; or -EFAULT, which the caller
 * counts.
 */
int kpl_scan_kernel(struct kpl_ctx *ctx, char *to, u32 limit, u64 addr);

/* May a string of any length be read at `addr` by whole words? */
static __always_inline bool kpl_str_whole(const struct kpl_ctx *ctx, u64 addr)
{
	u64 span = ctx->span, from = addr - kpl_kernel_first;

	return likely(addr % 8 == 0 && from <= span && span - from >= KPL_MAX_STR);
}

/*
 * Goes on behind the first `len` bytes, which are there, none or whole words of
 * an aligned string: up to its end or the limit, where it is cut and counted.
 * Its length; or negative: it can't be read, and the status says why.
 */
int kpl_str_rest(u64 hit, char *to, u32 len, u32 limit, u64 addr);
/* It was found that it can't be read.  Negative. */
int kpl_str_bad(u64 hit, u64 addr);

/*
 * User memory, from kpl_user_begin() to kpl_user_end(): words by
 * unsafe_get_user(), no calls.  The first of a hit is asked for in the kernel's
 * own careful way, which knows whether the user's page tables are there at all:
 * that does not change while preemption is off.
 */
static __always_inline bool kpl_user_address(u64 addr)
{
	return addr < TASK_SIZE_MAX - sizeof(u64);
}

bool kpl_user_ready(struct kpl_ctx *ctx, u64 addr);

static __always_inline bool kpl_user_begin(struct kpl_ctx *ctx, u64 addr, u32 size)
{
	if (!kpl_user_ready(ctx, addr))
		return false;
	pagefault_disable();
	if (user_access_begin((void __user *)addr, size))
		return true;
	pagefault_enable();
	return false;
}

static __always_inline void kpl_user_end(void)
{
	user_access_end();
	pagefault_enable();
}

/*
 * A bad address takes a trap.  A handler may meet KPL_MAX_FAULTS of them; then
 * every read fails at once, for the reason that the cost bound is reached.
 */
void kpl_fault_count(struct kpl_ctx *ctx);

static __always_inline bool kpl_faults_spent(const struct kpl_ctx *ctx)
{
	return unlikely(ctx->faults >= KPL_MAX_FAULTS);
}

/* Why a read fails that is not tried any more, or that is tried now. */
static inline u32 kpl_fault_reason(const struct kpl_ctx *ctx, u32 reason)
{
	return kpl_faults_spent(ctx) ? KPL_STOP_BUDGET : reason;
}

#endif
