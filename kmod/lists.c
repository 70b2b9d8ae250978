// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The helpers that make lists, as helpers.def describes them.  The program
 * may have written their headers: nothing in them is trusted.  Any context,
 * preemption off.
 */
#include <linux/minmax.h>

#include "guard.h"
#include "memory.h"
#include "words.h"

/* Where the next element of `size` bytes goes; NULL: cut. */
static u64 *kpl_list_room(u64 hit, struct kpl_str *list, u64 limit, u32 size)
{
	u32 room = round_down(limit, 8), len = min_t(u32, round_down(list->len, 8), room);
	u16 count = list->reserved, max = list->reserved >> 16;

	if (count >= max || size > room - len) {
		list->reserved = count | (u32)min(count, max) << 16;
		kpl_count_cut(hit);
		return NULL;
	}
	list->len = len + size;
	list->reserved = (count + 1) | (u32)max << 16;
	return (u64 *)(list->bytes + len);
}

u64 kpl_h_list_num(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	u64 *to = kpl_list_room(r1, (struct kpl_str *)r2, r3, sizeof(r4));

	if (to)
		*to = r4;
	return 0;
}

u64 kpl_h_list_str(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_str *str = (const struct kpl_str *)r4;
	u32 len = min_t(u32, str->len, r5), size = round_up(sizeof(len) + len, 8), i;
	const u64 *words = (const u64 *)str->bytes;
	u64 *to = kpl_list_room(r1, (struct kpl_str *)r2, r3, size);
	u64 before = len, word;

	if (!to)
		return 0;
	/* The length takes the first half of a word: each of the string's lies across two. */
	for (i = 0; i < len / 8; i++) {
		word = words[i];
		WRITE_ONCE(to[i], before | word << 32);
		before = word >> 32;
	}
	word = len % 8 ? kpl_first_bytes(words[i], len % 8) : 0;
	to[i] = before | word << 32;
	if (len % 8 > 4)
		to[i + 1] = word >> 32;
	return 0;
}
