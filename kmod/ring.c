// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Rings: their memory, which user space maps, and what is read of them.  Their
 * data is mapped twice in a row, so that a record that wraps is contiguous.
 * record.c writes into them, and takes a larger one where user space has made
 * one and offers it: the ones before stay, for what is in them.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/args.h"
#include "area.h"
#include "grow.h"
#include "ring.h"

/* ---------------------------------------------------------------- consuming */

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
