// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A registered uprobe is named by its file and its place there. */
#include <linux/uprobes.h>

bool kpl_try(struct uprobe_consumer *uc, struct mm_struct *mm, struct inode *inode);
bool kpl_try(struct uprobe_consumer *uc, struct mm_struct *mm, struct inode *inode)
{
	int (*handler)(struct uprobe_consumer *uc, struct pt_regs *regs) = uc->handler;
	int err = uprobe_register_refctr(inode, 0, 0, uc);

	uprobe_unregister(inode, 0, uc);
	return handler && !err && uc->filter(uc, UPROBE_FILTER_MMAP, mm);
}
