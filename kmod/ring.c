// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rings.  The producer is the CPU's handler, alone; the consumer is user
 * space, and not trusted: its position is read once for each record, and one
 * that makes no sense means that the ring is full.  Records are written in
 * place; a record that wraps is contiguous, for the data is mapped twice.
 *
 * A CPU whose ring is full takes a larger one, if user space has made one and
 * offers it: at the hit, so that nothing depends on when the consumer runs.
 * The ones before stay, for what is in them.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "core/args.h"
#include "area.h"
#include "grow.h"
#include "guard.h"
#include "memory.h"
#include "ring.h"
#include "words.h"

/* ---------------------------------------------------------------- producing */

static __always_inline struct kpl_ring *kpl_ring_of(const struct kpl_ctx *ctx)
{
	return this_cpu_read(ctx->origin->cpu->ring);
}

/*
 * What the consumer waits for: records up to wake_at.  A ring that is half
 * full wakes it in any case.
 */
static __always_inline bool kpl_ring_due(u64 head, u64 tail, u64 wake_at, u64 size)
{
	return head != tail && (head >= wake_at || head - tail > size / 2);
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

void kpl_ring_abandon(struct kpl_session *s)
{
	struct kpl_ring *ring = this_cpu_read(s->cpu->ring);

	if (ring)
		WRITE_ONCE(ring->head->reserved_head, ring->head->head);
}

/* ------------------------------------------------------------------ consuming */

/* Without the lock: all of them, set up, or NULL. */
static struct kpl_rings *kpl_rings(const struct kpl_session *s)
{
	/* Pairs with kpl_ring_setup(). */
	return smp_load_acquire(&s->rings);
}

/* Of any CPU's ring, which may get its memory at the same time: then both are empty. */
static const struct kpl_ring_head *kpl_ring_head(const struct kpl_ring *ring)
{
	return READ_ONCE(ring->head);
}

static const struct kpl_ring_ctl *kpl_ring_ctl(const struct kpl_ring *ring)
{
	return READ_ONCE(ring->ctl);
}

static bool kpl_ring_ready(const struct kpl_ring *ring, u64 size)
{
	const struct kpl_ring_ctl *ctl = kpl_ring_ctl(ring);

	return kpl_ring_due(READ_ONCE(kpl_ring_head(ring)->head), READ_ONCE(ctl->tail),
			    READ_ONCE(ctl->wake_at), size);
}

bool kpl_rings_ready(struct kpl_session *s)
{
	struct kpl_rings *rings = kpl_rings(s);
	struct kpl_spare *spare;
	unsigned long nr;
	u32 cpu;

	if (!rings)
		return false;
	/* Pairs with kpl_ring_wake(). */
	smp_mb();
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		if (kpl_ring_ready(&rings->of[cpu], rings->size))
			return true;
	xa_for_each(&rings->spares, nr, spare)
		if (kpl_ring_ready(&spare->ring, spare->ring.size))
			return true;
	return false;
}

u64 kpl_rings_lost_without(const struct kpl_session *s)
{
	const struct kpl_rings *rings = kpl_rings(s);
	u64 lost = 0;
	u32 cpu;

	for (cpu = 0; rings && cpu < nr_cpu_ids; cpu++)
		lost += READ_ONCE(rings->of[cpu].no_head.lost);
	return lost;
}

static void kpl_ring_sum(const struct kpl_ring *ring, struct kpl_ring_sums *sums)
{
	const struct kpl_ring_head *head = kpl_ring_head(ring);
	u64 tail = READ_ONCE(kpl_ring_ctl(ring)->tail);

	sums->read += tail;
	if (head == &ring->no_head)
		return;
	sums->lost += READ_ONCE(head->lost);
	sums->waits |= READ_ONCE(head->head) != tail;
}

struct kpl_ring_sums kpl_rings_sums(const struct kpl_session *s)
{
	struct kpl_ring_sums sums = { .lost = kpl_rings_lost_without(s) };
	struct kpl_rings *rings = kpl_rings(s);
	struct kpl_spare *spare;
	unsigned long nr;
	u32 cpu;

	for (cpu = 0; rings && cpu < nr_cpu_ids; cpu++)
		kpl_ring_sum(&rings->of[cpu], &sums);
	if (rings)
		xa_for_each(&rings->spares, nr, spare)
			kpl_ring_sum(&spare->ring, &sums);
	return sums;
}

u32 kpl_ring_max_record(const struct kpl_session *s)
{
	return s->rings ? min_t(u32, s->rings->size / 2, KPL_MAX_RECORD) : 0;
}

/* mmap_lock is held; rings live as long as the file. */
int kpl_ring_mmap_ctl(struct kpl_session *s, struct vm_area_struct *vma, u64 off)
{
	struct kpl_rings *rings = kpl_rings(s);

	return rings && vma_pages(vma) == 1 ? kpl_areas_mmap(rings->ctl, vma, off) : -EINVAL;
}

int kpl_ring_mmap_data(struct kpl_session *s, struct vm_area_struct *vma, u64 off)
{
	struct kpl_rings *rings = kpl_rings(s);

	return rings ? kpl_areas_mmap(rings->data, vma, off) : -EINVAL;
}

int kpl_ring_mmap_spare(struct kpl_session *s, struct vm_area_struct *vma, u64 off, bool ctl)
{
	struct kpl_rings *rings = kpl_rings(s);
	struct kpl_spare *spare = rings ? xa_load(&rings->spares, off / KPL_SPARE_STRIDE) : NULL;

	if (!spare || (ctl && vma_pages(vma) != 1))
		return -EINVAL;
	return kpl_areas_mmap(ctl ? spare->ctl : spare->data, vma, off % KPL_SPARE_STRIDE);
}

/* -------------------------------------------------------------------- memory */

static const struct kpl_area_plan kpl_ctl_plan = { .pages = 1, .twice_from = 1 };

static struct kpl_area_plan kpl_ring_plan(u32 size)
{
	return (struct kpl_area_plan) { .pages = 1 + size / PAGE_SIZE, .twice_from = 1 };
}

static u64 kpl_data_stride(u32 size)
{
	return roundup_pow_of_two(PAGE_SIZE + 2ull * size);
}

/* What they take with no CPU's memory. */
static u64 kpl_rings_memory(void)
{
	return struct_size((struct kpl_rings *)NULL, of, nr_cpu_ids) + 2 * kpl_areas_memory();
}

/* Memory for a CPU's ring; it is the area number `at` of these. */
static int kpl_ring_fill(struct kpl_ring *ring, struct kpl_areas *all_data,
			 struct kpl_areas *all_ctl, u32 at, u32 cpu, u32 size)
{
	struct kpl_ring_head *head;
	struct kpl_area data, ctl;
	int err;

	err = kpl_area_alloc(&data, &all_data->plan, cpu);
	if (err)
		return err;
	err = kpl_area_alloc(&ctl, &all_ctl->plan, cpu);
	if (err) {
		kpl_area_free(&data);
		return err;
	}
	head = data.addr;
	head->cpu = cpu;
	head->size = size;
	ring->data = data.addr + PAGE_SIZE;
	ring->size = size;
	ring->woke_tail = U64_MAX;
	/* poll looks at any time. */
	smp_store_release(&ring->ctl, ctl.addr);
	smp_store_release(&ring->head, head);
	kpl_areas_set(all_ctl, at, &ctl);
	kpl_areas_set(all_data, at, &data);
	return 0;
}

static int kpl_ring_make(struct kpl_grower *g, u32 cpu)
{
	struct kpl_rings *rings = container_of(g, struct kpl_rings, grower);

	return kpl_ring_fill(&rings->of[cpu], rings->data, rings->ctl, cpu, cpu, rings->size);
}

static void kpl_spare_free(struct kpl_spare *spare)
{
	kpl_areas_put(spare->data);
	kpl_areas_put(spare->ctl);
	kvfree(spare);
}

static void kpl_rings_release(struct kpl_rings *rings)
{
	struct kpl_spare *spare;
	unsigned long nr;

	kpl_grow_end(&rings->grower);
	xa_for_each(&rings->spares, nr, spare)
		kpl_spare_free(spare);
	xa_destroy(&rings->spares);
	kpl_areas_put(rings->data);
	kpl_areas_put(rings->ctl);
	kvfree(rings);
}

void kpl_rings_free(struct kpl_session *s)
{
	if (!s->rings)
		return;
	kpl_rings_release(s->rings);
	kpl_uncharge(s, kpl_rings_memory());
}

static int kpl_rings_fill(struct kpl_rings *rings, struct kpl_session *s, u32 size)
{
	struct kpl_area_plan plan = kpl_ring_plan(size);
	u32 cpu;

	xa_init_flags(&rings->spares, XA_FLAGS_ACCOUNT);
	rings->size = size;
	rings->data = kpl_areas_alloc(s, &plan, kpl_data_stride(size), false);
	rings->ctl = kpl_areas_alloc(s, &kpl_ctl_plan, PAGE_SIZE, true);
	if (!rings->data || !rings->ctl)
		return -ENOMEM;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		rings->of[cpu].head = &rings->of[cpu].no_head;
		rings->of[cpu].ctl = &rings->of[cpu].no_ctl;
	}
	rings->grower.areas = rings->data;
	rings->grower.each = kpl_area_memory(&plan) + kpl_area_memory(&kpl_ctl_plan);
	rings->grower.make = kpl_ring_make;
	return kpl_grow_begin(&rings->grower);
}

static struct kpl_rings *kpl_rings_alloc(struct kpl_session *s, u32 size)
{
	struct kpl_rings *rings = kvzalloc(struct_size(rings, of, nr_cpu_ids), KPL_GFP);
	int err;

	if (!rings)
		return ERR_PTR(-ENOMEM);
	err = kpl_rings_fill(rings, s, size);
	if (!err)
		return rings;
	kpl_rings_release(rings);
	return ERR_PTR(err);
}

/* Programs that emit are loaded afterwards: none can look for a ring before. */
int kpl_ring_setup(struct kpl_session *s, struct kpl_ring_setup *arg)
{
	int err = kpl_check_ring_setup(arg, PAGE_SIZE);
	struct kpl_rings *rings;
	u32 cpu;

	if (err)
		return err;
	if (s->rings)
		return -EBUSY;
	err = kpl_charge(s, kpl_rings_memory());
	if (err)
		return err;
	rings = kpl_rings_alloc(s, arg->size);
	if (IS_ERR(rings)) {
		kpl_uncharge(s, kpl_rings_memory());
		return PTR_ERR(rings);
	}
	for_each_possible_cpu(cpu)
		per_cpu_ptr(s->cpu, cpu)->ring = &rings->of[cpu];
	/* poll and mmap look without the lock. */
	smp_store_release(&s->rings, rings);
	arg->nr_cpus = nr_cpu_ids;
	arg->ctl_off = KPL_OFF(KPL_OFF_CTL, 0, 0);
	arg->ctl_stride = PAGE_SIZE;
	arg->data_off = KPL_OFF(KPL_OFF_DATA, 0, 0);
	arg->data_stride = kpl_data_stride(arg->size);
	return 0;
}

/* ------------------------------------------------------------------- growing */

/* What one more takes. */
static u64 kpl_spare_memory(const struct kpl_area_plan *plan)
{
	return sizeof(struct kpl_spare) + 2 * kpl_areas_memory() + kpl_area_memory(plan) +
	       kpl_area_memory(&kpl_ctl_plan);
}

static struct kpl_spare *kpl_spare_alloc(struct kpl_session *s, const struct kpl_area_plan *plan,
					 u32 size)
{
	struct kpl_spare *spare = kvzalloc(sizeof(*spare), KPL_GFP);
	int err = -ENOMEM;

	if (!spare)
		return ERR_PTR(err);
	spare->data = kpl_areas_alloc(s, plan, KPL_SPARE_STRIDE, false);
	spare->ctl = kpl_areas_alloc(s, &kpl_ctl_plan, KPL_SPARE_STRIDE, true);
	/* From memory near the caller. */
	if (spare->data && spare->ctl)
		err = kpl_ring_fill(&spare->ring, spare->data, spare->ctl, 0,
				    raw_smp_processor_id(), size);
	if (err) {
		kpl_spare_free(spare);
		return ERR_PTR(err);
	}
	spare->ring.head->cpu = KPL_NO_CPU;
	return spare;
}

/* Locked. */
int kpl_ring_spare(struct kpl_session *s, struct kpl_ring_spare *arg)
{
	struct kpl_area_plan plan = kpl_ring_plan(arg->size);
	struct kpl_rings *rings = s->rings;
	struct kpl_spare *spare;
	int err;

	if (!rings)
		return -ENXIO;
	err = kpl_check_ring_spare(arg, rings->size);
	if (!err && rings->nr_spares == KPL_MAX_SPARES)
		err = -E2BIG;
	if (!err)
		err = kpl_charge(s, kpl_spare_memory(&plan));
	if (err)
		return err;
	spare = kpl_spare_alloc(s, &plan, arg->size);
	err = PTR_ERR_OR_ZERO(spare);
	if (!err)
		err = xa_err(xa_store(&rings->spares, rings->nr_spares, spare, KPL_GFP));
	if (err) {
		if (!IS_ERR(spare))
			kpl_spare_free(spare);
		kpl_uncharge(s, kpl_spare_memory(&plan));
		return err;
	}
	spare->data->charged = kpl_spare_memory(&plan);
	arg->ctl_off = KPL_OFF(KPL_OFF_SPARE_CTL, rings->nr_spares, KPL_SPARE_STRIDE);
	arg->data_off = KPL_OFF(KPL_OFF_SPARE_DATA, rings->nr_spares, KPL_SPARE_STRIDE);
	arg->nr = rings->nr_spares++;
	return 0;
}

/* Locked: two never put one on top at the same time. */
int kpl_ring_offer(struct kpl_session *s, struct kpl_ring_offer *arg)
{
	struct kpl_spare *spare = s->rings ? xa_load(&s->rings->spares, arg->nr) : NULL;
	int err = kpl_check_ring_offer(arg);

	if (err)
		return err;
	if (!spare || spare->offered)
		return -EINVAL;
	spare->offered = true;
	spare->next = READ_ONCE(s->rings->on_offer);
	/* The ring is whole; what is below may be taken meanwhile. */
	while (!try_cmpxchg(&s->rings->on_offer, &spare->next, spare))
		;
	return 0;
}
