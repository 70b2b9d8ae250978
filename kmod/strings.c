// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The helpers on string values.  The program may have written their headers:
 * a length is never trusted beyond the limit that the verifier knows.  Any
 * context, preemption off.
 */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "hit.h"
#include "words.h"

static __always_inline const u64 *kpl_str_words(const struct kpl_str *str)
{
	return (const u64 *)str->bytes;
}

static __always_inline u32 kpl_str_len(const struct kpl_str *str, u64 limit)
{
	return min_t(u32, str->len, limit);
}

/* The first `n` bytes of a word; n < 8. */
static __always_inline u64 kpl_first_bytes(u64 word, u32 n)
{
	u64 part = 0;

	memcpy(&part, &word, n);
	return part;
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
	for (; i < words; i++)
		out[i] = 0;
	to->len = len;
	to->reserved = 0;
	return len;
}

/* The whole destination is written, as in str_copy. */
u64 kpl_h_comm(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_str *to = (struct kpl_str *)r1;
	u32 size = KPL_STR_SIZE(r2) - sizeof(*to), len;
	u64 word[TASK_COMM_LEN / 8];

	memcpy(word, current->comm, sizeof(word));
	len = kpl_word_len(word[0], 0);
	if (len == 8)
		len += kpl_word_len(word[1], 0);
	len = min3(len, (u32)r2, TASK_COMM_LEN - 1u);
	memset(to->bytes, 0, size);
	memcpy(to->bytes, word, len);
	to->len = len;
	to->reserved = 0;
	return len;
}
