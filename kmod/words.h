/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Strings, eight bytes at a time.  Any context. */
#ifndef KPL_WORDS_H
#define KPL_WORDS_H

#include <asm/word-at-a-time.h>
#include <linux/kernel.h>

#include "core/core.h"

/* The index of the first zero byte of a word at or after byte `skip`; 8: none. */
static __always_inline u32 kpl_word_len(u64 word, u32 skip)
{
	const struct word_at_a_time constants = WORD_AT_A_TIME_CONSTANTS;
	unsigned long bits;

	/* Bytes before `skip` are taken for non-zero. */
	memset(&word, 0xff, skip);
	if (!has_zero(word, &bits, &constants))
		return 8;
	bits = prep_zero_mask(word, bits, &constants);
	return find_zero(create_zero_mask(bits));
}

/* The length of the string in `n` bytes, which need no end nor alignment. */
static __always_inline u32 kpl_bytes_len(const char *bytes, u32 n)
{
	u32 len = 0;

	for (; len + 8 <= n; len += 8) {
		u64 word;
		u32 at;

		memcpy(&word, bytes + len, 8);
		at = kpl_word_len(word, 0);
		if (at < 8)
			return len + at;
	}
	while (len < n && bytes[len])
		len++;
	return len;
}

/* Completes a string value: the rest of its last word is zero. */
static __always_inline u64 kpl_str_end(struct kpl_str *str, u32 len)
{
	u32 end = len;

	for (; end % 8; end++)
		str->bytes[end] = 0;
	str->len = len;
	str->reserved = 0;
	return len;
}

#endif
