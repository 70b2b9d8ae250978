// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Records: what handlers write into their CPU's ring.  The consumer is not
 * trusted: its position is read once for each record, and one that makes no
 * sense means that the ring is full.  Records are written in place; a record
 * that wraps is contiguous, for the data is mapped twice.
 *
 * A CPU whose ring is full takes a larger one, if user space has made one and
 * offers it: at the hit, so that nothing depends on when the consumer runs.
 */
#include <linux/ktime.h>

#include "guard.h"
#include "memory.h"
#include "record.h"
#include "ring.h"
#include "words.h"

static __always_inline struct kpl_ring *kpl_ring_of(const struct kpl_ctx *ctx)
{
	return this_cpu_read(ctx->origin->cpu->ring);
}

/* Once for each state that the consumer leaves behind. */
static __always_inline void kpl_ring_wake(struct kpl_ctx *ctx, struct kpl_ring *ring, u64 head)
{
	u64 tail, wake_at;

	/* The consumer sets wake_at, then looks at head: one of us sees the other. */
	smp_mb();
	wake_at = READ_ONCE(ring->ctl->wake_at);
	tail = READ_ONCE(ring->ctl->tail);
	if (!kpl_ring_due(head, tail, wake_at, ring->size))
		return;
	if (wake_at == ring->woke_at && tail == ring->woke_tail)
		return;
	ring->woke_at = wake_at;
	ring->woke_tail = tail;
	kpl_session_wake(ctx->origin->session);
}

/* What is on offer becomes this CPU's ring, if it is larger; NULL: nothing is. */
static struct kpl_ring *kpl_ring_take(struct kpl_ctx *ctx, const struct kpl_ring *full)
{
	struct kpl_rings *rings = ctx->origin->session->rings;
	struct kpl_spare *spare = smp_load_acquire(&rings->on_offer);

	do {
		if (!spare || spare->ring.size <= full->size)
			return NULL;
	} while (!try_cmpxchg(&rings->on_offer, &spare, spare->next));
	WRITE_ONCE(spare->ring.head->cpu, smp_processor_id());
	this_cpu_write(ctx->origin->cpu->ring, &spare->ring);
	/* Another one is wanted. */
	kpl_session_wake(ctx->origin->session);
	return &spare->ring;
}

static noinline __noclone u64 kpl_rec_full(u64 hit, u64 event, u64 fixed, u64 tail,
					   struct kpl_ring *ring);

static __always_inline u64 kpl_rec_begin(u64 r1, u64 r2, u64 r3, u64 r4, struct kpl_ring *ring,
					 bool last)
{
	struct kpl_ctx *ctx = kpl_ctx_of(r1);
	u32 need = sizeof(struct kpl_rec) + (u32)r3 + (u32)r4;
	struct kpl_ring_head *h = ring->head;
	u64 head = h->head, sent = h->sent;
	struct kpl_rec *rec;
	u64 pending;

	/* What the consumer has read may be overwritten from here on. */
	pending = head - smp_load_acquire(&ring->ctl->tail);
	if (unlikely(pending > ring->size || need > ring->size - pending)) {
		if (!last)
			return kpl_rec_full(r1, r2, r3, r4, ring);
		kpl_acts(r1);
		WRITE_ONCE(h->lost, h->lost + 1);
		WRITE_ONCE(h->sent, sent + 1);
		return 0;
	}
	WRITE_ONCE(h->reserved_head, head + need);
	rec = ring->data + (head & (ring->size - 1));
	ctx->ring = ring;
	ring->rec = rec;
	ring->fixed = r3;
	ring->used = sizeof(*rec) + (u32)r3;
	ring->room = need;
	rec->event = r2;
	rec->seq = sent;
	/* Last: little is left to keep in a register meanwhile. */
	rec->time = ktime_get_mono_fast_ns();
	return (unsigned long)(rec + 1);
}

/* The record goes to a larger ring, if there is one; else it is lost. */
static noinline __noclone u64 kpl_rec_full(u64 hit, u64 event, u64 fixed, u64 tail,
					   struct kpl_ring *ring)
{
	struct kpl_ring *next = kpl_ring_take(kpl_ctx_of(hit), ring);

	return kpl_rec_begin(hit, event, fixed, tail, next ?: ring, true);
}

u64 kpl_h_rec_begin(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return kpl_rec_begin(r1, r2, r3, r4, kpl_ring_of(kpl_ctx_of(r1)), false);
}

u64 kpl_h_rec_str(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_ring *ring = kpl_ctx_of(r1)->ring;
	const struct kpl_str *str = (const struct kpl_str *)r4;
	struct kpl_rec_str *slot = (void *)r2 + r3;
	u32 len = min_t(u32, str->len, r5), size = ALIGN(len, 8), used = ring->used;

	if (unlikely(r3 + sizeof(*slot) > ring->fixed || used + size > ring->room)) {
		kpl_fail(r1, KPL_STOP_TOO_LONG, 0);
		return 0;
	}
	slot->off = used;
	slot->len = len;
	ring->used = used + size;
	kpl_words_copy((void *)ring->rec + used, (const u64 *)str->bytes, size / 8);
	return 0;
}

/* A string of `len` bytes stands at the record's end; negative: none, it can't be read. */
static __always_inline u64 kpl_rec_read(struct kpl_ring *ring, struct kpl_rec_str *slot, int len)
{
	u32 used = ring->used;

	if (unlikely(len < 0))
		return 0;
	slot->off = used;
	slot->len = len;
	ring->used = used + ALIGN((u32)len, 8);
	return 1;
}

/* The rest of a string, from `addr` to `to`, or one of which nothing is there yet. */
static noinline __noclone u64 kpl_rec_read_rest(u64 hit, struct kpl_rec_str *slot, u64 *to,
						u64 left, u64 addr)
{
	struct kpl_ring *ring = kpl_ctx_of(hit)->ring;
	char *begin = (char *)ring->rec + ring->used;
	u32 done = (char *)to - begin;
	int len = kpl_str_rest(hit, begin, done, done + left, addr - done);
	u64 *last = (u64 *)begin + len / 8;

	if (len > 0 && len % 8)
		*last = kpl_first_bytes(*last, len % 8);
	return kpl_rec_read(ring, slot, len);
}

static noinline __noclone u64 kpl_rec_read_bad(u64 hit, u64 *to, u64 addr)
{
	const struct kpl_ring *ring = kpl_ctx_of(hit)->ring;

	kpl_str_bad(hit, addr - ((void *)to - ((void *)ring->rec + ring->used)));
	return 0;
}

/* As str, with as few registers to save: what is left is told by where it stands. */
u64 kpl_h_rec_read_str(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_ring *ring = kpl_ctx_of(r1)->ring;
	struct kpl_rec_str *slot = (void *)r2 + r3;
	u64 *to = (void *)(r2 - sizeof(struct kpl_rec)) + ring->used, word, zeros;

	if (unlikely(r3 + sizeof(*slot) > ring->fixed ||
		     ring->used + ALIGN((u32)r4, 8) > ring->room)) {
		kpl_fail(r1, KPL_STOP_TOO_LONG, 0);
		return 0;
	}
	if (!kpl_str_whole(kpl_ctx_of(r1), r5))
		goto rest;
	for (; r4 >= 8; r4 -= 8, r5 += 8, to++) {
		kpl_load_kernel(word, u64, r5, fault);
		zeros = kpl_zero_bits(word);
		if (zeros) {
			*to = kpl_before(word, zeros);
			ring = kpl_ctx_of(r1)->ring;
			return kpl_rec_read(ring, slot, (void *)to - (void *)ring->rec -
							ring->used + kpl_bytes_before(zeros));
		}
		*to = word;
	}
rest:
	return kpl_rec_read_rest(r1, slot, to, r4, r5);
fault:
	return kpl_rec_read_bad(r1, to, r5);
}

u64 kpl_h_rec_end(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_ctx *ctx = kpl_ctx_of(r1);
	struct kpl_ring *ring = ctx->ring;
	struct kpl_ring_head *h = ring->head;
	u32 used = ring->used;
	u64 head = h->head + used;

	kpl_acts(r1);
	ring->rec->len = used;
	WRITE_ONCE(h->sent, h->sent + 1);
	WRITE_ONCE(h->reserved_head, head);
	/* The record is complete. */
	smp_store_release(&h->head, head);
	kpl_ring_wake(ctx, ring, head);
	return 0;
}

/* Nothing was sent: the sequence goes on as if it had not begun. */
u64 kpl_h_rec_drop(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_ring_head *h = kpl_ctx_of(r1)->ring->head;

	WRITE_ONCE(h->reserved_head, h->head);
	return 0;
}

void kpl_rec_abandon(struct kpl_session *s)
{
	struct kpl_ring *ring = this_cpu_read(s->cpu->ring);

	if (ring)
		WRITE_ONCE(ring->head->reserved_head, ring->head->head);
}
