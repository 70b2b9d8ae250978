// SPDX-License-Identifier: GPL-2.0 OR MIT
/* vma->vm_flags is written by functions only. */
#include <linux/mm.h>

void kpl_try(struct vm_area_struct *vma);
void kpl_try(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY);
}
