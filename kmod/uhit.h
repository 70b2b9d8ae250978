/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Hits in processes: what the kernel calls, in the task that came by, preemption on. */
#ifndef KPL_UHIT_H
#define KPL_UHIT_H

#include <linux/uprobes.h>

#include "kind.h"

struct kpl_ucalls;

/* A probe in a file. */
struct kpl_uprobe {
	struct uprobe_consumer consumer;
	struct kpl_probe *pr;
	struct uprobe *handle;		/* of those kernels that have it */
	struct file *file;
	struct inode *inode;		/* what the file's mappings are of */
	struct pid *pid;		/* for whom alone; NULL: for all */
	struct kpl_ucalls *calls;	/* of a return probe */
};

static inline struct kpl_uprobe *kpl_uprobe_of(struct uprobe_consumer *uc)
{
	return container_of(uc, struct kpl_uprobe, consumer);
}

/* Whether the process that the probe is for has this memory. */
bool kpl_uprobe_wants(const struct kpl_uprobe *u, const struct mm_struct *mm);

/* What is called for a probe: it prepares no more than the handler looks at. */
typedef int kpl_user_fn(struct uprobe_consumer *uc, struct pt_regs *regs);
kpl_user_fn *kpl_hit_user_for(const struct kpl_probe *pr);

int kpl_hit_user_call(struct uprobe_consumer *uc, struct pt_regs *regs);
int kpl_hit_user_return(struct uprobe_consumer *uc, unsigned long func, struct pt_regs *regs);

#endif
