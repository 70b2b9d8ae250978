// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The helpers on string values.  The program may have written their headers:
 * a length is never trusted beyond the limit that the verifier knows.  Any
 * context, preemption off.
 */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "guard.h"
#include "words.h"

static __always_inline const u64 *kpl_str_words(const struct kpl_str *str)
{
	return (const u64 *)str->bytes;
}

static __always_inline u32 kpl_str_len(const struct kpl_str *str, u64 limit)
{
	return min_t(u32, str->len, limit);
}

static bool kpl_same(const struct kpl_str *a, const struct kpl_str *b, u32 len)
{
	u32 i;

	for (i = 0; i < len / 8; i++)
		if (kpl_str_words(a)[i] != kpl_str_words(b)[i])
			return false;
	return !(len % 8) || kpl_first_bytes(kpl_str_words(a)[i], len % 8) ==
			     kpl_first_bytes(kpl_str_words(b)[i], len % 8);
}

u64 kpl_h_str_eq(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_str *a = (const struct kpl_str *)r1, *b = (const struct kpl_str *)r3;
	u32 len = kpl_str_len(a, r2);

	return len == kpl_str_len(b, r4) && kpl_same(a, b, len);
}

u64 kpl_h_str_starts(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_str *s = (const struct kpl_str *)r1, *prefix = (const struct kpl_str *)r3;
	u32 len = kpl_str_len(prefix, r4);

	return len <= kpl_str_len(s, r2) && kpl_same(s, prefix, len);
}

/* The whole destination is written: it may be a key, or a map's value. */
u64 kpl_h_str_copy(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *to = (struct kpl_str *)r2;
	const struct kpl_str *from = (const struct kpl_str *)r4;
	u32 words = (KPL_STR_SIZE(r3) - sizeof(*to)) / 8;
	u32 len = kpl_str_len(from, r5), i;
	u64 *out = (u64 *)to->bytes;

	if (unlikely(len > r3)) {
		kpl_fail(r1, KPL_STOP_TOO_LONG, 0);
		len = 0;
	}
	for (i = 0; i < len / 8; i++)
		out[i] = kpl_str_words(from)[i];
	if (len % 8) {
		out[i] = kpl_first_bytes(kpl_str_words(from)[i], len % 8);
		i++;
	}
	if (i < words)
		kpl_words_zero(out + i, words - i);
	to->len = len;
	to->reserved = (u16)from->reserved;	/* how many elements a list has; 0 in strings */
	return len;
}

/* A limit other than those for which a name takes two words. */
static noinline u64 kpl_comm_odd(struct kpl_str *to, u32 limit, u64 first, u64 second, u32 len)
{
	const u64 name[2] = { first, second };

	len = min(len, limit);
	kpl_words_zero((u64 *)to->bytes, (KPL_STR_SIZE(limit) - sizeof(*to)) / 8);
	memcpy(to->bytes, name, len);
	to->len = len;
	to->reserved = 0;
	return len;
}

/*
 * The whole destination is written, as in str_copy.  The name ends within its
 * two words; what stands behind the end is left over from longer ones.
 */
u64 kpl_h_comm(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const u64 *comm = (const u64 *)current->comm;
	struct kpl_str *to = (struct kpl_str *)r1;
	u64 first = READ_ONCE(comm[0]), second = 0, bits = kpl_zero_bits(first);
	u32 len;

	static_assert(sizeof(current->comm) == KPL_COMM && KPL_COMM == 2 * sizeof(*comm));
	if (bits) {
		len = kpl_bytes_before(bits);
		first = kpl_before(first, bits);
	} else {
		second = READ_ONCE(comm[1]) & KPL_COMM_END;
		bits = kpl_zero_bits(second);
		len = 8 + kpl_bytes_before(bits);
		second = kpl_before(second, bits);
	}
	if (unlikely(r2 - 9 > 7 || len > r2))
		return kpl_comm_odd(to, r2, first, second, len);
	*(u64 *)to = len;	/* and reserved */
	((u64 *)to->bytes)[0] = first;
	((u64 *)to->bytes)[1] = second;
	return len;
}
