// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Memory that handlers write and user space maps.  Process context throughout. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "area.h"
#include "compat.h"

static int kpl_area_node(const struct kpl_area_plan *plan, u32 page)
{
	u32 cpu = plan->cpu + page / plan->cpu_pages;

	return cpu < nr_cpu_ids && cpu_possible(cpu) ? cpu_to_node(cpu) : NUMA_NO_NODE;
}

u64 kpl_area_memory(const struct kpl_area_plan *plan)
{
	return (u64)plan->pages * (PAGE_SIZE + sizeof(struct page *));
}

static int kpl_area_fill(struct kpl_area *area, const struct kpl_area_plan *plan)
{
	for (; area->nr_pages < plan->pages; area->nr_pages++) {
		area->pages[area->nr_pages] =
			alloc_pages_node(kpl_area_node(plan, area->nr_pages),
					 KPL_GFP | __GFP_ZERO, 0);
		if (!area->pages[area->nr_pages])
			return -ENOMEM;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

int kpl_area_alloc(struct kpl_area *area, const struct kpl_area_plan *plan)
{
	u32 twice = plan->pages > plan->twice_from ? plan->pages - plan->twice_from : 0;
	u32 total = plan->pages + twice;
	u32 i;
	int err;

	area->nr_pages = 0;
	area->pages = kvmalloc_array(total, sizeof(*area->pages), KPL_GFP);
	if (!area->pages)
		return -ENOMEM;

	err = kpl_area_fill(area, plan);
	if (err)
		goto fail;
	for (i = 0; i < twice; i++)
		area->pages[plan->pages + i] = area->pages[plan->twice_from + i];

	err = -ENOMEM;
	area->addr = vmap(area->pages, total, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	if (!area->addr)
		goto fail;
	area->size = (u64)total * PAGE_SIZE;
	return 0;

fail:
	kpl_area_free(area);
	return err;
}

/* Also of an area that was never, or not wholly, allocated. */
void kpl_area_free(struct kpl_area *area)
{
	vunmap(area->addr);
	while (area->nr_pages)
		__free_page(area->pages[--area->nr_pages]);
	kvfree(area->pages);
	memset(area, 0, sizeof(*area));
}

int kpl_area_mmap(const struct kpl_area *area, struct vm_area_struct *vma, bool writable)
{
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start > area->size)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (!writable) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	vm_flags_clear(vma, VM_MAYEXEC);
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
	return remap_vmalloc_range(vma, area->addr, 0);
}
