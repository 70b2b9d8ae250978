// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Probes in programs and libraries: user space names a file and a place in it,
 * and every process that maps it is probed, now and later.  Process context.
 *
 * The kernel puts the breakpoints where one of a file's probes wants them, and
 * a child inherits them: what a probe is for is asked at each hit.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uprobes.h>
#include <linux/workqueue.h>

#include "common.h"
#include "compat.h"
#include "session.h"
#include "ucall.h"
#include "uhit.h"
#include "uprobe.h"

#ifdef KPL_UPROBES

#ifdef KPL_HAVE_UPROBE_HANDLE
static bool kpl_uprobe_filter(struct uprobe_consumer *uc, struct mm_struct *mm)
#else
static bool kpl_uprobe_filter(struct uprobe_consumer *uc, enum uprobe_filter_ctx ctx,
			      struct mm_struct *mm)
#endif
{
	return kpl_uprobe_wants(kpl_uprobe_of(uc), mm);
}

#ifdef KPL_HAVE_UPROBE_HANDLE
static int kpl_uprobe_register(struct kpl_uprobe *u)
{
	u->handle = uprobe_register(u->inode, u->pr->origin.addr, u->pr->semaphore, &u->consumer);
	return PTR_ERR_OR_ZERO(u->handle);
}

static void kpl_uprobe_unregister(struct kpl_uprobe *u)
{
	uprobe_unregister_nosync(u->handle, &u->consumer);
}

static void kpl_uprobes_wait(void)
{
	uprobe_unregister_sync();
}
#else
static int kpl_uprobe_register(struct kpl_uprobe *u)
{
	return uprobe_register_refctr(u->inode, u->pr->origin.addr, u->pr->semaphore,
				      &u->consumer);
}

/* Waits for those who are in a handler. */
static void kpl_uprobe_unregister(struct kpl_uprobe *u)
{
	uprobe_unregister(u->inode, u->pr->origin.addr, &u->consumer);
}

static void kpl_uprobes_wait(void)
{
}
#endif

/*
 * The kernel writes breakpoints by get_user_pages_remote(), which fails in a
 * task that is being killed: those of a session that dies while it attaches
 * would stay in what runs.  So a worker writes them, which nobody kills; who
 * is one already does not wait for another.
 */
struct kpl_uprobe_switch {
	struct work_struct work;
	struct kpl_uprobe *u;
	bool on;
	int err;
};

static void kpl_uprobe_switched(struct work_struct *work)
{
	struct kpl_uprobe_switch *job = container_of(work, struct kpl_uprobe_switch, work);

	if (job->on)
		job->err = kpl_uprobe_register(job->u);
	else
		kpl_uprobe_unregister(job->u);
}

static int kpl_uprobe_switch(struct kpl_uprobe *u, bool on)
{
	struct kpl_uprobe_switch job = { .u = u, .on = on };

	INIT_WORK_ONSTACK(&job.work, kpl_uprobe_switched);
	if (current->flags & PF_KTHREAD) {
		kpl_uprobe_switched(&job.work);
	} else {
		queue_work(kpl_jobs, &job.work);
		flush_work(&job.work);
	}
	destroy_work_on_stack(&job.work);
	return job.err;
}

/*
 * What the kernel reads of the file while no process of the machine can fork may
 * lie on a disk that a process serves (loop devices, NBD, ublk).  So it is read
 * before, by who can be killed, and held until the kernel has it.  NULL: it is not
 * in the page cache.
 */
static struct page *kpl_page_hold(const struct kpl_uprobe *u, loff_t at)
{
	const struct file_operations *op = u->file->f_op;
	loff_t pos = at;
	u8 byte;

	if (!op->read_iter || op->read)
		return NULL;	/* which the kernel would report as a fault of ours */
	if (kernel_read(u->file, &byte, 1, &pos) == 1)
		return find_get_page(u->inode->i_mapping, at >> PAGE_SHIFT);
	return fatal_signal_pending(current) ? ERR_PTR(-EINTR) : NULL;
}

static int kpl_uprobe_on(struct kpl_uprobe *u)
{
	const struct kpl_probe *pr = u->pr;
	const loff_t at[] = { pr->origin.addr, pr->origin.addr + MAX_UINSN_BYTES - 1,
			      pr->semaphore ?: pr->origin.addr };
	struct page *held[ARRAY_SIZE(at)] = {};
	int err = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(at) && !err; i++) {
		held[i] = kpl_page_hold(u, at[i]);
		err = PTR_ERR_OR_ZERO(held[i]);
	}
	err = err ?: kpl_uprobe_switch(u, true);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		if (!IS_ERR_OR_NULL(held[i]))
			put_page(held[i]);
	return err;
}

static u32 kpl_user_data_size(const struct kpl_prog *first, const struct kpl_prog *second)
{
	return max(first ? first->data_size : 0, second ? second->data_size : 0);
}

/* The kernel's own of a place, at most: struct uprobe, which it shows nobody. */
#define KPL_KERNELS_UPROBE	512

static u64 kpl_uprobe_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return sizeof(struct kpl_uprobe) + KPL_KERNELS_UPROBE;
}

static u64 kpl_uretprobe_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return sizeof(struct kpl_uprobe) + KPL_KERNELS_UPROBE +
	       kpl_ucalls_memory(a->maxactive ?: KPL_UCALLS,
				 kpl_user_data_size(progs[KPL_SIDE_FIRST],
						    progs[KPL_SIDE_SECOND]));
}

static void kpl_uprobe_free(struct kpl_probe *pr)
{
	struct kpl_uprobe *u = pr->user;

	if (!u)
		return;
	pr->user = NULL;
	if (u->calls)
		kpl_ucalls_free(u->calls);
	if (u->file)
		fput(u->file);
	put_pid(u->pid);
	kfree(u);
}

/* A process that is not there any more can't be told apart at registration. */
static struct pid *kpl_uprobe_pid(const struct kpl_when *when)
{
	struct pid *pid = NULL;

	if (when->mask & KPL_WHEN_PID) {
		rcu_read_lock();
		pid = get_pid(find_pid_ns(when->pid, &init_pid_ns));
		rcu_read_unlock();
	}
	return pid;
}

/*
 * The kernel reads the code where the breakpoint goes while no process of the
 * machine can fork.  A server of FUSE, which may be anybody's, may never answer;
 * that of virtiofs is the host.
 */
static bool kpl_inode_may_hang(const struct inode *inode)
{
	const struct super_block *sb = inode->i_sb;

	return sb->s_magic == FUSE_SUPER_MAGIC && strcmp(sb->s_type->name, "virtiofs");
}

/* The file is held open: what it is on can't be unmounted meanwhile. */
static int kpl_uprobe_open(struct kpl_uprobe *u)
{
	u->file = fget(u->pr->fd);
	if (!u->file)
		return -EBADF;
	if (!(u->file->f_mode & FMODE_READ))
		return -EACCES;
	u->inode = d_real_inode(u->file->f_path.dentry);
	return S_ISREG(u->inode->i_mode) && !kpl_inode_may_hang(u->inode) ? 0 : -EIO;
}

static int kpl_uprobe_add_one(struct kpl_probe *pr)
{
	const struct kpl_handler *handler = pr->handler;
	struct kpl_uprobe *u = kzalloc(sizeof(*u), KPL_GFP);
	int err;

	if (!u)
		return -ENOMEM;
	pr->user = u;
	u->pr = pr;
	u->pid = kpl_uprobe_pid(&pr->when);
	u->consumer.filter = u->pid ? kpl_uprobe_filter : NULL;
	u->consumer.handler = kpl_hit_user_for(pr);
	err = kpl_uprobe_open(u);
	if (err || pr->ops == &kpl_uprobe_ops)
		return err;
	u->consumer.handler = kpl_hit_user_call;
	if (handler[KPL_SIDE_SECOND].run)
		u->consumer.ret_handler = kpl_hit_user_return;
	u->calls = kpl_ucalls_alloc(&pr->origin, pr->maxactive ?: KPL_UCALLS,
				    kpl_user_data_size(handler[KPL_SIDE_FIRST].prog,
						       handler[KPL_SIDE_SECOND].prog));
	if (IS_ERR(u->calls)) {
		err = PTR_ERR(u->calls);
		u->calls = NULL;
		return err;
	}
	u->calls->one_process = pr->when.mask & (KPL_WHEN_PID | KPL_WHEN_TID);
	return 0;
}

static void kpl_uprobe_add(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_uprobe_add_one);
}

static void kpl_uprobe_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (prs[i]->armed)
			prs[i]->error = 0;
		else
			prs[i]->error = kpl_interrupted(prs[i]) ? -EINTR :
						kpl_uprobe_on(prs[i]->user);
		prs[i]->armed = !prs[i]->error;
		kpl_step(prs[i]);
		cond_resched_tasks_rcu_qs();
	}
}

/* Calls under way are not followed any more. */
static void kpl_uprobe_disarm(struct kpl_probe **prs, u32 nr)
{
	bool any = false;
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = 0;
		if (!prs[i]->armed)
			continue;
		kpl_uprobe_switch(prs[i]->user, false);
		any = true;
		cond_resched_tasks_rcu_qs();
	}
	if (any)
		kpl_uprobes_wait();
	for (i = 0; i < nr; i++) {
		prs[i]->armed = false;
		if (prs[i]->user->calls)
			kpl_ucalls_forget(prs[i]->user->calls);
	}
}

static void kpl_uprobe_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	kpl_uprobe_disarm(prs, nr);
	for (i = 0; i < nr; i++) {
		if (prs[i]->user->calls)
			kpl_ucalls_retire(prs[i]->user->calls);
		prs[i]->added = false;
	}
}

static void kpl_uretprobe_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	kpl_call_stats(pr, out);
	if (pr->user && pr->user->calls)
		out->outstanding = READ_ONCE(pr->user->calls->under_way);
}

#else

static u64 kpl_uprobe_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return 0;
}

#define kpl_uretprobe_memory	kpl_uprobe_memory
#define kpl_uprobe_add		kpl_add_none
#define kpl_uprobe_arm		NULL
#define kpl_uprobe_disarm	NULL
#define kpl_uprobe_remove	NULL
#define kpl_uprobe_free		NULL
#define kpl_uretprobe_stats	NULL
#endif

const struct kpl_probe_ops kpl_uprobe_ops = {
	.kind = KPL_PROBE_UPROBE,
	.rules = { KPL_ATTACH_F_ENTRY, 0, KPL_TAKES_FILE },
	.writes_to_others = true,
	.memory = kpl_uprobe_memory,
	.kinds = { KPL_PROG_PRE, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_uprobe_add,
	.run[KPL_OP_ARM] = kpl_uprobe_arm,
	.run[KPL_OP_DISARM] = kpl_uprobe_disarm,
	.run[KPL_OP_REMOVE] = kpl_uprobe_remove,
	.free = kpl_uprobe_free,
	.state = kpl_plain_state,
	.stats = kpl_hit_stats,
};

const struct kpl_probe_ops kpl_uretprobe_ops = {
	.kind = KPL_PROBE_URETPROBE,
	.rules = { KPL_ATTACH_F_ENTRY, KPL_MAX_ACTIVE, KPL_TAKES_FILE },
	.writes_to_others = true,
	.memory = kpl_uretprobe_memory,
	.kinds = { KPL_PROG_ENTRY, KPL_PROG_RET, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_uprobe_add,
	.run[KPL_OP_ARM] = kpl_uprobe_arm,
	.run[KPL_OP_DISARM] = kpl_uprobe_disarm,
	.run[KPL_OP_REMOVE] = kpl_uprobe_remove,
	.free = kpl_uprobe_free,
	.state = kpl_plain_state,
	.stats = kpl_uretprobe_stats,
};
