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

#include "hit.h"
#include "memory.h"
#include "probe.h"
#include "words.h"

#ifdef CONFIG_X86_64
u64 kpl_kernel_first __ro_after_init, kpl_kernel_span __ro_after_init;

void kpl_memory_init(void)
{
	kpl_kernel_first = -(1ull << (boot_cpu_data.x86_virt_bits - 1));
	kpl_kernel_span = VSYSCALL_ADDR - 8 - kpl_kernel_first;
}
#else
void kpl_memory_init(void)
{
}
#endif

/* ------------------------------------------------------------------- numbers */

#define KPL_READ(name, type)						\
u64 kpl_h_##name(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)		\
{									\
	type value;							\
									\
	kpl_read_kernel(value, type, r2, fault);			\
	return value;							\
fault:									\
	kpl_fail(r1, KPL_STOP_READ, r2);				\
	return 0;							\
}

KPL_READ(read8, u8)
KPL_READ(read16, u16)
KPL_READ(read32, u32)
KPL_READ(read64, u64)

/* Little-endian: the bytes that are not read are the upper ones. */
u64 kpl_h_uread(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	u64 value = 0;

	if (r3 <= sizeof(value) && !copy_from_user_nofault(&value, (void __user *)r2, r3))
		return value;
	kpl_fail(r1, KPL_STOP_USER_READ, r2);
	return 0;
}

/* -------------------------------------------------------------------- blocks */

u64 kpl_h_read_mem(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	if (!copy_from_kernel_nofault((void *)r2, (void *)r4, r3))
		return 0;
	/* The verifier takes the destination for written. */
	memset((void *)r2, 0, r3);
	kpl_fail(r1, KPL_STOP_READ, r4);
	return KPL_STOP_READ;
}

void kpl_count_cut(u64 hit)
{
	this_cpu_inc(kpl_ctx_of(hit)->probe->outcomes->side[KPL_SIDE_FIRST].n[KPL_C_TRUNCATED]);
}

u64 kpl_no_string(u64 hit, struct kpl_str *str, u32 reason, u64 addr)
{
	str->len = 0;
	str->reserved = 0;
	kpl_fail(hit, reason, addr);
	return 0;
}

u64 kpl_h_buf(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *str = (struct kpl_str *)r2;
	u64 len = min(r5, r3);

	if (copy_from_kernel_nofault(str->bytes, (void *)r4, len))
		return kpl_no_string(r1, str, KPL_STOP_READ, r4);
	if (r5 > r3)
		kpl_count_cut(r1);
	return kpl_str_end(str, len);
}

u64 kpl_h_ubuf(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *str = (struct kpl_str *)r2;
	u64 len = min(r5, r3);

	if (copy_from_user_nofault(str->bytes, (void __user *)r4, len))
		return kpl_no_string(r1, str, KPL_STOP_USER_READ, r4);
	if (r5 > r3)
		kpl_count_cut(r1);
	return kpl_str_end(str, len);
}

/* ------------------------------------------------------------------- strings */

/*
 * Reads words that don't cross a page, so that a string which ends on the last
 * page before a hole can be read.  The length, `limit` included when it has no
 * end before; negative: bad address.
 */
static int kpl_scan_kernel(char *to, u32 limit, u64 addr)
{
	u32 skip = addr % 8, len = 0;

	while (len < limit) {
		u64 word;
		u32 n;

		kpl_read_kernel(word, u64, addr - skip, fault);
		/* Zeros come in behind: they don't end the string before its last byte. */
		word >>= 8 * skip;
		n = min(kpl_word_len(word), 8 - skip);
		if (n > limit - len)
			n = limit - len;
		if (likely(n == 8))
			memcpy(to + len, &word, 8);
		else
			memcpy(to + len, &word, n);
		len += n;
		if (n < 8 - skip)
			break;
		addr += n;
		skip = 0;
	}
	return len;
fault:
	return -EFAULT;
}

u64 kpl_h_str(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *str = (struct kpl_str *)r2;
	int len = kpl_scan_kernel(str->bytes, r3, r4);
	u8 next = 0;

	if (len < 0)
		return kpl_no_string(r1, str, KPL_STOP_READ, r4);
	if (len == r3) {
		kpl_read_kernel(next, u8, r4 + len, fault);
		if (next)
			kpl_count_cut(r1);
	}
	return kpl_str_end(str, len);
fault:
	return kpl_no_string(r1, str, KPL_STOP_READ, r4 + len);
}

#define KPL_USER_CHUNK	64	/* bytes; never crosses a page */

static int kpl_scan_user(char *to, u32 limit, u64 addr)
{
	u32 len = 0;

	while (len < limit) {
		u32 chunk = min_t(u32, KPL_USER_CHUNK - addr % KPL_USER_CHUNK, limit - len), n;

		if (copy_from_user_nofault(to + len, (void __user *)addr, chunk))
			return -EFAULT;
		n = kpl_bytes_len(to + len, chunk);
		len += n;
		if (n < chunk)
			break;
		addr += chunk;
	}
	return len;
}

u64 kpl_h_ustr(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *str = (struct kpl_str *)r2;
	int len = kpl_scan_user(str->bytes, r3, r4);
	u8 next;

	if (len < 0)
		return kpl_no_string(r1, str, KPL_STOP_USER_READ, r4);
	/* Whether something follows; where that can't be known, nothing does. */
	if (len == r3 && !copy_from_user_nofault(&next, (void __user *)(r4 + len), 1) && next)
		kpl_count_cut(r1);
	return kpl_str_end(str, len);
}
