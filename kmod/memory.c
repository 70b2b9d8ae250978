// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The helpers that read kernel and user memory.  No address makes them fault:
 * what can't be read is a status and the address.
 */
#include <linux/percpu.h>
#include <linux/string.h>

#ifdef CONFIG_X86_64
#include <asm/processor.h>
#include <asm/vsyscall.h>
#endif

#include "guard.h"
#include "memory.h"
#include "words.h"

u64 kpl_kernel_first __ro_after_init, kpl_kernel_span __ro_after_init;

void kpl_memory_init(void)
{
#ifdef CONFIG_X86_64
	/* Of the page tables in use: the processor may know of larger ones. */
	kpl_kernel_first = -(1ull << __VIRTUAL_MASK_SHIFT);
	kpl_kernel_span = VSYSCALL_ADDR - 8 - kpl_kernel_first;
#else
	kpl_kernel_first = TASK_SIZE_MAX;
	kpl_kernel_span = -8 - kpl_kernel_first;
#endif
}

/* -------------------------------------------------------------------- faults */

void kpl_fault_count(struct kpl_ctx *ctx)
{
	if (!kpl_faults_spent(ctx))
		ctx->faults++;
	/* Numbers of the kernel are read below the span's end: nowhere. */
	if (kpl_faults_spent(ctx))
		ctx->span = 0;
}

/* ------------------------------------------------------------------- numbers */

/*
 * A number could not be read, or was not: no kernel address, a bad one, or the
 * span is still that of an earlier hit, which had too many of these.
 */
static noinline u64 kpl_read_again(struct kpl_ctx *ctx, u64 addr, u32 size)
{
	u32 reason = kpl_fault_reason(ctx, KPL_STOP_READ);
	u64 value = 0;

	if (kpl_kernel_address(addr) && !kpl_faults_spent(ctx)) {
		ctx->span = kpl_kernel_span + 1;
		if (!copy_from_kernel_nofault(&value, (void *)addr, size))
			return value;
		kpl_fault_count(ctx);
	}
	kpl_fail((unsigned long)&ctx->hit, reason, addr);
	return 0;
}

#define KPL_READ(name, type)						\
u64 kpl_h_##name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)		\
{									\
	type value;							\
									\
	if (unlikely(r2 - kpl_kernel_first >= kpl_ctx_of(r1)->span))	\
		goto fault;						\
	kpl_load_kernel(value, type, r2, fault);			\
	return value;							\
fault:									\
	return kpl_read_again(kpl_ctx_of(r1), r2, sizeof(type));	\
}

KPL_READ(read8, u8)
KPL_READ(read16, u16)
KPL_READ(read32, u32)
KPL_READ(read64, u64)

/* -------------------------------------------------------------------- blocks */

/*
 * The kernel itself looks at the first byte alone, and may take an address for
 * good that the processor does not.
 */
static __always_inline bool kpl_kernel_block(u64 addr, u32 size)
{
	return kpl_kernel_address(addr) &&
	       size <= kpl_kernel_span + 8 - (addr - kpl_kernel_first);
}

static __always_inline bool kpl_copy_kernel(void *to, u64 addr, u32 size)
{
	return kpl_kernel_block(addr, size) && !copy_from_kernel_nofault(to, (void *)addr, size);
}

bool kpl_peek(void *to, u64 addr, u32 size)
{
	return kpl_copy_kernel(to, addr, size);
}

static __always_inline bool kpl_copy_block(void *to, u64 addr, u32 size, bool user)
{
	if (user)
		return !copy_from_user_nofault(to, (void __user *)addr, size);
	return kpl_copy_kernel(to, addr, size);
}

/* False: the status says why. */
static __always_inline bool kpl_read_block(u64 hit, void *to, u64 addr, u32 size, bool user)
{
	struct kpl_ctx *ctx = kpl_ctx_of(hit);
	u32 reason = kpl_fault_reason(ctx, user ? KPL_STOP_USER_READ : KPL_STOP_READ);

	if (!kpl_faults_spent(ctx) && kpl_copy_block(to, addr, size, user))
		return true;
	kpl_fault_count(ctx);
	kpl_fail(hit, reason, addr);
	return false;
}

/* Little-endian: the bytes that are not read are the upper ones. */
u64 kpl_h_uread(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	u64 value = 0;

	if (r3 <= sizeof(value)) {
		if (kpl_read_block(r1, &value, r2, r3, true))
			return value;
	} else {
		kpl_fail(r1, KPL_STOP_USER_READ, r2);
	}
	return 0;
}

u64 kpl_h_read_mem(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	if (kpl_read_block(r1, (void *)r2, r4, r3, false))
		return 0;
	/* The verifier takes the destination for written. */
	kpl_words_zero((u64 *)r2, r3 / 8);
	memset((void *)r2 + r3 / 8 * 8, 0, r3 % 8);
	return ((struct kpl_hit *)r1)->status;
}

void kpl_count_cut(u64 hit)
{
	kpl_count(kpl_ctx_of(hit)->origin, KPL_SIDE_FIRST, KPL_C_TRUNCATED);
}

u64 kpl_no_string(u64 hit, struct kpl_str *str, u32 reason, u64 addr)
{
	str->len = 0;
	str->reserved = 0;
	kpl_fail(hit, reason, addr);
	return 0;
}

static __always_inline u64 kpl_buf(u64 hit, struct kpl_str *str, u64 limit, u64 addr, u64 size,
				   bool user)
{
	u64 len = min(size, limit);

	if (!kpl_read_block(hit, str->bytes, addr, len, user)) {
		str->len = 0;
		str->reserved = 0;
		return 0;
	}
	if (size > limit)
		kpl_count_cut(hit);
	return kpl_str_end(str, len);
}

u64 kpl_h_buf(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return kpl_buf(r1, (struct kpl_str *)r2, r3, r4, r5, false);
}

u64 kpl_h_ubuf(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return kpl_buf(r1, (struct kpl_str *)r2, r3, r4, r5, true);
}

/* ------------------------------------------------------------------- strings */

/* What a scan has found. */
struct kpl_scan {
	int len;	/* negative: a bad address */
	bool cut;	/* the string goes on behind the limit */
	bool trapped;	/* what is behind the limit can't be read */
};

/* `type` at `addr`, of the user's or the kernel's memory. */
#define kpl_scan_read(value, type, addr, user, label)				\
do {										\
	if (user)								\
		unsafe_get_user(value, (type __user *)(addr), label);		\
	else									\
		kpl_load_kernel(value, type, addr, label);			\
} while (0)

/* How many bytes from `addr` on may be asked for, a word at each; 0: none. */
static __always_inline u64 kpl_scan_room(u64 addr, bool user)
{
	if (user)
		return kpl_user_address(addr) ? TASK_SIZE_MAX - sizeof(u64) - addr : 0;
	return kpl_kernel_address(addr) ? kpl_kernel_first + kpl_kernel_span - addr : 0;
}

/*
 * Copies a string up to its end or the limit.  It is read by aligned words,
 * which don't cross a page, so that one which ends on the last page before a
 * hole can be read.  `to` has room for the limit, rounded up to words; the
 * first `len` bytes are there, none or whole words of an aligned string.
 */
static __always_inline struct kpl_scan kpl_scan(char *to, u32 len, u32 limit, u64 addr, bool user)
{
	u64 room = kpl_scan_room(addr, user), word, zeros;
	u32 skip = addr % 8, end = min_t(u64, limit, room);
	u8 byte;

	if (!room)
		goto fault;
	if (skip && limit) {
		kpl_scan_read(word, u64, addr - skip, user, fault);
		/* Zeros come in behind: they don't end it before its last byte. */
		word >>= 8 * skip;
		memcpy(to, &word, sizeof(word));
		len = min(kpl_word_len(word), 8 - skip);
		if (len < 8 - skip && len <= limit)
			return (struct kpl_scan) { .len = len };
		len = min(len, limit);
	}
	for (; len + 8 <= end; len += 8) {
		kpl_scan_read(word, u64, addr + len, user, fault);
		memcpy(to + len, &word, sizeof(word));
		zeros = kpl_zero_bits(word);
		if (zeros)
			return (struct kpl_scan) { .len = len + kpl_bytes_before(zeros) };
	}
	for (; len < limit; len++) {
		if (len >= room)
			goto fault;
		kpl_scan_read(byte, u8, addr + len, user, fault);
		if (!byte)
			return (struct kpl_scan) { .len = len };
		to[len] = byte;
	}
	/* Where what follows can't be read, nothing does. */
	if (len >= room)
		return (struct kpl_scan) { .len = len };
	kpl_scan_read(byte, u8, addr + len, user, alone);
	return (struct kpl_scan) { .len = len, .cut = byte };
alone:
	return (struct kpl_scan) { .len = len, .trapped = true };
fault:
	return (struct kpl_scan) { .len = -EFAULT };
}

int kpl_scan_kernel(struct kpl_ctx *ctx, char *to, u32 limit, u64 addr)
{
	struct kpl_scan scan = { .len = -EFAULT };

	if (!kpl_faults_spent(ctx))
		scan = kpl_scan(to, 0, limit, addr, false);
	if (scan.trapped)
		kpl_fault_count(ctx);
	return scan.len;
}

/* The length; or negative, and the status says why. */
static __always_inline int kpl_scanned(u64 hit, struct kpl_scan scan, u32 reason, u64 addr)
{
	struct kpl_ctx *ctx = kpl_ctx_of(hit);

	if (unlikely(scan.len < 0)) {
		reason = kpl_fault_reason(ctx, reason);
		kpl_fault_count(ctx);
		kpl_fail(hit, reason, addr);
	} else if (scan.cut) {
		kpl_count_cut(hit);
	} else if (unlikely(scan.trapped)) {
		kpl_fault_count(ctx);
	}
	return scan.len;
}

noinline __noclone int kpl_str_bad(u64 hit, u64 addr)
{
	return kpl_scanned(hit, (struct kpl_scan) { .len = -EFAULT }, KPL_STOP_READ, addr);
}

static __always_inline int kpl_read_rest(u64 hit, char *to, u32 len, u32 limit, u64 addr)
{
	struct kpl_scan scan = { .len = -EFAULT };

	if (!kpl_faults_spent(kpl_ctx_of(hit)))
		scan = kpl_scan(to, len, limit, addr, false);
	return kpl_scanned(hit, scan, KPL_STOP_READ, addr);
}

int kpl_str_rest(u64 hit, char *to, u32 len, u32 limit, u64 addr)
{
	return kpl_read_rest(hit, to, len, limit, addr);
}

/* A string value, of what a scan gave. */
static __always_inline u64 kpl_str_scanned(struct kpl_str *str, int len)
{
	return kpl_str_end(str, unlikely(len < 0) ? 0 : len);
}

static noinline __noclone u64 kpl_bad_str(u64 hit, struct kpl_str *str, u64 addr)
{
	return kpl_str_scanned(str, kpl_str_bad(hit, addr));
}

static noinline __noclone u64 kpl_any_str(u64 hit, struct kpl_str *str, u64 limit, u64 addr,
					  u32 len)
{
	return kpl_str_scanned(str, kpl_read_rest(hit, str->bytes, len, limit, addr));
}

/*
 * Most strings begin at a multiple of 8 and end before the limit: these are
 * read with as few registers as need not be saved.
 */
u64 kpl_h_str(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	u64 at = 8, word, zeros;
	u64 *to = (u64 *)r2 + 1;

	if (!kpl_str_whole(kpl_ctx_of(r1), r4))
		goto any;
	for (; at <= r3; at += 8) {
		kpl_load_kernel(word, u64, r4 + at - 8, fault);
		zeros = kpl_zero_bits(word);
		if (zeros) {
			*to = kpl_before(word, zeros);
			at = at - 8 + kpl_bytes_before(zeros);
			*(u64 *)r2 = at;	/* the length, and reserved */
			return at;
		}
		*to++ = word;
	}
any:
	return kpl_any_str(r1, (struct kpl_str *)r2, r3, r4, at - 8);
fault:
	return kpl_bad_str(r1, (struct kpl_str *)r2, r4);
}

bool kpl_user_ready(struct kpl_ctx *ctx, u64 addr)
{
	u8 byte;

	if (kpl_faults_spent(ctx))
		return false;
	if (likely(ctx->reads_user))
		return true;
	if (copy_from_user_nofault(&byte, (void __user *)addr, sizeof(byte))) {
		kpl_fault_count(ctx);
		return false;
	}
	ctx->reads_user = 1;
	return true;
}

u64 kpl_h_ustr(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *str = (struct kpl_str *)r2;
	struct kpl_ctx *ctx = kpl_ctx_of(r1);
	u32 reason = kpl_fault_reason(ctx, KPL_STOP_USER_READ);
	struct kpl_scan scan;

	if (!kpl_user_begin(ctx, r4, 1))
		return kpl_no_string(r1, str, reason, r4);
	scan = kpl_scan(str->bytes, 0, r3, r4, true);
	kpl_user_end();
	return kpl_str_scanned(str, kpl_scanned(r1, scan, KPL_STOP_USER_READ, r4));
}
