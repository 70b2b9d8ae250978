/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Strings, most of them eight bytes at a time.  Any context. */
#ifndef KPL_WORDS_H
#define KPL_WORDS_H

#include <linux/ctype.h>
#include <linux/kernel.h>

#include "core/core.h"

#ifndef __LITTLE_ENDIAN
#error "strings are read as little-endian words"
#endif

#define KPL_ONES	0x0101010101010101ull
#define KPL_COMM_END	(~0ull >> 8)	/* of a name's second word: it ends even while it is set */

/*
 * By words, at a few instructions each.  Volatile stores: the compiler must not
 * make a memset() or memcpy() of them, which some CPUs do byte by byte.
 */
static __always_inline void kpl_words_zero(u64 *to, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		WRITE_ONCE(to[i], 0);
}

static __always_inline void kpl_words_copy(u64 *to, const u64 *from, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		WRITE_ONCE(to[i], from[i]);
}

/* The lowest bit set is the top bit of the first zero byte; 0: there is none. */
static __always_inline u64 kpl_zero_bits(u64 word)
{
	return (word - KPL_ONES) & ~word & KPL_ONES << 7;
}

/* How many bytes stand before the first zero byte. */
static __always_inline u32 kpl_bytes_before(u64 zero_bits)
{
	return (u32)__builtin_ctzll(zero_bits) / 8;
}

/* Those bytes of a word, the others 0. */
static __always_inline u64 kpl_before(u64 word, u64 zero_bits)
{
	return word & (zero_bits ^ (zero_bits - 1)) >> 8;
}

/* The first `n` bytes of a word; n < 8. */
static __always_inline u64 kpl_first_bytes(u64 word, u32 n)
{
	return word & ((1ull << 8 * n) - 1);
}

/* The index of the first zero byte of a word; 8: there is none. */
static __always_inline u32 kpl_word_len(u64 word)
{
	u64 bits = kpl_zero_bits(word);

	return bits ? kpl_bytes_before(bits) : 8;
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

/*
 * What user space has chosen, with `?` for what could pass for another line or
 * move a terminal's cursor: all but printable ASCII.  `to` may be `from`.
 */
static inline void kpl_printable(char *to, size_t size, const char *from)
{
	size_t i;

	for (i = 0; i < size - 1 && from[i]; i++)
		to[i] = isascii(from[i]) && isprint(from[i]) ? from[i] : '?';
	to[i] = '\0';
}

#endif
