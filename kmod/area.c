// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Memory of each CPU that handlers write and user space maps.  Process context throughout. */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "area.h"
#include "compat.h"
#include "session.h"

/* What stands for pages that are not there. */
static struct page *kpl_zeros;

int kpl_area_init(void)
{
	kpl_zeros = alloc_page(GFP_KERNEL | __GFP_ZERO);
	return kpl_zeros ? 0 : -ENOMEM;
}

void kpl_area_exit(void)
{
	__free_page(kpl_zeros);
}

void *kpl_zeros_map(u64 bytes)
{
	u32 nr = DIV_ROUND_UP(bytes, PAGE_SIZE), i;
	struct page **pages = kvmalloc_array(nr, sizeof(*pages), KPL_GFP);
	void *addr;

	if (!pages)
		return NULL;
	for (i = 0; i < nr; i++)
		pages[i] = kpl_zeros;
	addr = vmap(pages, nr, VM_MAP, PAGE_KERNEL_RO);
	kvfree(pages);
	return addr;
}

/* ------------------------------------------------------------------ one CPU's */

/* As they are mapped. */
static u32 kpl_area_pages(const struct kpl_area_plan *plan)
{
	return plan->pages + (plan->pages > plan->twice_from ? plan->pages - plan->twice_from : 0);
}

u64 kpl_area_memory(const struct kpl_area_plan *plan)
{
	return (u64)plan->pages * PAGE_SIZE + (u64)kpl_area_pages(plan) * sizeof(struct page *);
}

/* A CPU that comes has it whatever becomes of the task that switches it on. */
static int kpl_area_fill(struct kpl_area *area, const struct kpl_area_plan *plan, u32 cpu)
{
	for (; area->nr_pages < plan->pages; area->nr_pages++) {
		area->pages[area->nr_pages] =
			alloc_pages_node(cpu_to_node(cpu), kpl_area_gfp(cpu) | __GFP_ZERO, 0);
		if (!area->pages[area->nr_pages])
			return -ENOMEM;
		if (cpu_online(cpu) && fatal_signal_pending(current))
			return -EINTR;
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

int kpl_area_alloc(struct kpl_area *area, const struct kpl_area_plan *plan, u32 cpu)
{
	u32 total = kpl_area_pages(plan), i;
	int err;

	memset(area, 0, sizeof(*area));
	area->pages = kvmalloc_array(total, sizeof(*area->pages), kpl_area_gfp(cpu));
	if (!area->pages)
		return -ENOMEM;

	err = kpl_area_fill(area, plan, cpu);
	if (err)
		goto fail;
	for (i = plan->pages; i < total; i++)
		area->pages[i] = area->pages[plan->twice_from + i - plan->pages];

	err = -ENOMEM;
	area->addr = vmap(area->pages, total, VM_MAP, PAGE_KERNEL);
	if (!area->addr)
		goto fail;
	return 0;

fail:
	kpl_area_free(area);
	return err;
}

/* Also of an area that was never, or not wholly, allocated. */
void kpl_area_free(struct kpl_area *area)
{
	vunmap(area->addr);
	while (area->nr_pages) {
		__free_page(area->pages[--area->nr_pages]);
		cond_resched_tasks_rcu_qs();
	}
	kvfree(area->pages);
	memset(area, 0, sizeof(*area));
}

/* ------------------------------------------------------------------ all CPUs' */

u64 kpl_areas_memory(void)
{
	return struct_size((struct kpl_areas *)NULL, of, nr_cpu_ids);
}

struct kpl_areas *kpl_areas_alloc(struct kpl_session *s, const struct kpl_area_plan *plan,
				  u64 stride, bool writable)
{
	struct kpl_areas *areas = kvzalloc(kpl_areas_memory(), KPL_GFP);

	if (!areas)
		return NULL;
	refcount_set(&areas->users, 1);
	areas->session = s;
	mutex_init(&areas->lock);
	areas->plan = *plan;
	areas->stride = stride / PAGE_SIZE;
	areas->writable = writable;
	return areas;
}

void kpl_areas_uncharge(struct kpl_areas *areas, u64 bytes)
{
	areas->charged -= bytes;
	kpl_uncharge(areas->session, bytes);
}

void kpl_areas_put(struct kpl_areas *areas)
{
	u32 cpu;

	if (!areas || !refcount_dec_and_test(&areas->users))
		return;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		kpl_area_free(&areas->of[cpu]);
	kpl_uncharge(areas->session, areas->charged);
	mutex_destroy(&areas->lock);
	kvfree(areas);
}

/* Zeros that mappings show in its place go; those that come later do, too: see the fault. */
void kpl_areas_set(struct kpl_areas *areas, u32 cpu, const struct kpl_area *area)
{
	struct address_space *mapping;
	u64 at;

	mutex_lock(&areas->lock);
	areas->of[cpu] = *area;
	mapping = areas->mapping;
	at = areas->first + cpu * areas->stride;
	mutex_unlock(&areas->lock);
	if (mapping && !areas->writable)
		unmap_mapping_range(mapping, at << PAGE_SHIFT,
				    (u64)kpl_area_pages(&areas->plan) << PAGE_SHIFT, 1);
}

/* -------------------------------------------------------------------- mapping */

/* NULL: it is not there, or nothing ever is. */
static struct page *kpl_areas_page(const struct kpl_areas *areas, u64 at)
{
	u64 cpu = div64_u64(at, areas->stride), page = at - cpu * areas->stride;

	if (cpu >= nr_cpu_ids || page >= kpl_area_pages(&areas->plan) || !areas->of[cpu].pages)
		return NULL;
	return areas->of[cpu].pages[page];
}

/* The zeros can be in so many places that their count of users overflows. */
static struct page *kpl_page_or_zeros(const struct kpl_areas *areas, u64 at)
{
	struct page *page = kpl_areas_page(areas, at);

	if (!page && !areas->writable && (u32)page_ref_count(kpl_zeros) < INT_MAX / 2)
		return kpl_zeros;
	return page;
}

static struct page *kpl_areas_look(struct kpl_areas *areas, const struct vm_fault *vmf)
{
	struct page *page;

	mutex_lock(&areas->lock);
	page = kpl_page_or_zeros(areas, vmf->pgoff - areas->first);
	mutex_unlock(&areas->lock);
	return page;
}

/*
 * Tables of pages may take long to come by, and a CPU that comes waits for the
 * lock: it is not held meanwhile.  Pages stay as long as a mapping does; zeros are
 * taken away again if it was for memory that has come.
 */
static vm_fault_t kpl_areas_fault(struct vm_fault *vmf)
{
	struct kpl_areas *areas = vmf->vma->vm_private_data;
	struct page *page = kpl_areas_look(areas, vmf);
	int err = page ? vm_insert_page(vmf->vma, vmf->address, page) : -ENXIO;

	if (page == kpl_zeros && kpl_areas_look(areas, vmf) != kpl_zeros)
		unmap_mapping_range(areas->mapping, (u64)vmf->pgoff << PAGE_SHIFT, PAGE_SIZE, 1);
	if (err == -ENOMEM)
		return VM_FAULT_OOM;
	/* Another thread was faster; or what userfaultfd has left there stays. */
	if (err == -EBUSY &&
	    !((vmf->flags & FAULT_FLAG_ORIG_PTE_VALID) && !pte_none(vmf->orig_pte)))
		err = 0;
	return err ? VM_FAULT_SIGBUS : VM_FAULT_NOPAGE;
}

/* A mapping was split, or moves. */
static void kpl_areas_open(struct vm_area_struct *vma)
{
	struct kpl_areas *areas = vma->vm_private_data;

	refcount_inc(&areas->users);
}

static void kpl_areas_close(struct vm_area_struct *vma)
{
	kpl_areas_put(vma->vm_private_data);
}

static const struct vm_operations_struct kpl_areas_ops = {
	.open = kpl_areas_open,
	.close = kpl_areas_close,
	.fault = kpl_areas_fault,
};

static bool kpl_areas_fit(const struct kpl_areas *areas, u64 at, u64 nr)
{
	u64 cpu = div64_u64(at, areas->stride), one = kpl_area_pages(&areas->plan);

	if (cpu >= nr_cpu_ids || cpu * areas->stride != at)
		return false;
	return nr <= one || (one == areas->stride && nr <= (nr_cpu_ids - cpu) * one);
}

/* Pages come with their first fault: rings that are never filled take no room in who maps them. */
int kpl_areas_mmap(struct kpl_areas *areas, struct vm_area_struct *vma, u64 off)
{
	u64 at = off >> PAGE_SHIFT;

	if (!(vma->vm_flags & VM_SHARED) || !kpl_areas_fit(areas, at, vma_pages(vma)))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (!areas->writable) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_clear(vma, VM_MAYEXEC);
	vm_flags_set(vma, VM_IO | VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP);
	mutex_lock(&areas->lock);
	areas->mapping = vma->vm_file->f_mapping;
	areas->first = vma->vm_pgoff - at;
	mutex_unlock(&areas->lock);
	refcount_inc(&areas->users);
	vma->vm_private_data = areas;
	vma->vm_ops = &kpl_areas_ops;
	return 0;
}
