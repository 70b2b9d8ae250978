// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A registered uprobe has a handle; one wait does for many that are unregistered. */
#include <linux/uprobes.h>

bool kpl_try(struct uprobe_consumer *uc, struct mm_struct *mm, struct inode *inode);
bool kpl_try(struct uprobe_consumer *uc, struct mm_struct *mm, struct inode *inode)
{
	int (*handler)(struct uprobe_consumer *uc, struct pt_regs *regs) = uc->handler;
	struct uprobe *handle = uprobe_register(inode, 0, 0, uc);

	uprobe_unregister_nosync(handle, uc);
	uprobe_unregister_sync();
	return handler && uc->filter(uc, mm);
}
