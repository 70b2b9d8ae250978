// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Hits in processes.  They come in the task that came by, with preemption on
 * and nothing held that a page fault may want.  Handlers run as everywhere, with
 * preemption off.  One that stops at memory of the process that is not
 * resident, before it has done anything that shows, runs again after that was
 * brought in.
 */
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/userfaultfd_k.h>

#include "compat.h"
#include "handle.h"
#include "ucall.h"
#include "uhit.h"

#ifdef KPL_UPROBES

#define KPL_USER_RUNS	5	/* the first, and four with what it lacked */
#define KPL_PAGE_WAIT	(HZ / 10)	/* jiffies */

/* ------------------------------------------------------------------ handlers */

struct kpl_user_hit {
	const struct kpl_probe *pr;
	enum kpl_side side;
	struct pt_regs *regs;
	struct kpl_ucall *call;		/* that it begins or ends; or NULL */
	const struct return_instance *chained;	/* of one that begins: kpl_user_chained() */
	unsigned long addr;		/* of the process's memory, where the probe stands */
	u64 result;			/* of the handler's last run */
	u64 missing;			/* where it has stopped */
};

/* What the function that was just entered finds as where it returns to; 0: that can't be told. */
static u64 kpl_user_return_word(struct pt_regs *regs)
{
	u64 addr = 0;

#ifdef CONFIG_X86
	if (copy_from_user_nofault(&addr, (void __user *)user_stack_pointer(regs),
				   kpl_popped(regs)))
		return 0;
#else
	addr = procedure_link_pointer(regs);
#endif
	return addr;
}

/*
 * The call whose function has jumped to the one that was just entered (a tail
 * call), if the kernel waits for its return: both return at once, the newer one
 * first.  The function finds the kernel's trampoline then, which begins a page;
 * if it finds anything else, the older call was left without a return.  Where the
 * trampoline lies is the kernel's secret: a process may put another page there.
 */
static const struct return_instance *kpl_user_chained(struct pt_regs *regs)
{
	const struct return_instance *ri = kpl_user_followed();
	u64 word;

	while (ri && ri->stack != user_stack_pointer(regs))
		ri = ri->next;
	word = ri ? kpl_user_return_word(regs) : 0;
	return word && !offset_in_page(word) ? ri : NULL;
}

static u64 kpl_user_return_address(const struct kpl_user_hit *hit)
{
	if (hit->side == KPL_SIDE_SECOND)
		return instruction_pointer(hit->regs);
	return hit->chained ? hit->chained->orig_ret_vaddr : kpl_user_return_word(hit->regs);
}

static void kpl_user_look(struct kpl_ctx *ctx, const struct kpl_user_hit *hit)
{
	kpl_look(ctx, &hit->pr->origin);
	ctx->hit.addr = hit->addr;
	if (!hit->call)
		return;
	ctx->hit.ret = regs_return_value(hit->regs);
	ctx->hit.ret_addr = kpl_user_return_address(hit);
}

static noinline void kpl_user_ended(const struct kpl_user_hit *hit)
{
	struct kpl_ctx *ctx = kpl_ctx_here();
	enum kpl_count counter = kpl_ended(ctx, &hit->pr->handler[hit->side], hit->result);

	kpl_count(&hit->pr->origin, hit->side, counter);
	if (counter == KPL_C_DECLINED)
		kpl_count(&hit->pr->origin, hit->side, KPL_C_HANDLED);
}

/* The run counts for nothing: what it lacked may be brought in. */
static bool kpl_user_lacks(const struct kpl_ctx *ctx, const struct kpl_user_hit *hit)
{
	return KPL_RET_REASON(hit->result) == KPL_STOP_USER_READ && !ctx->acted &&
	       hit->pr->handler[hit->side].looks == KPL_LOOKS_AT_ALL;
}

/* Preemption off.  True: to be run again, unless this was the last time. */
static bool kpl_user_run(struct kpl_user_hit *hit, bool last)
{
	const struct kpl_probe *pr = hit->pr;
	const struct kpl_handler *handler = &pr->handler[hit->side];
	struct kpl_ctx *ctx = kpl_ctx_here();
	u64 cut;

	hit->result = KPL_RET_SKIP;
	if (kpl_over(pr)) {
		if (hit->side == KPL_SIDE_SECOND)
			kpl_count(&pr->origin, hit->side, KPL_C_SKIPPED);
		return false;
	}
	if (!kpl_begin(ctx, pr, hit->side))
		return false;
	ctx->hit.regs = (unsigned long)hit->regs;
	ctx->hit.data = hit->call ? (unsigned long)hit->call->data : 0;
	if (handler->looks == KPL_LOOKS_AT_ALL)
		kpl_user_look(ctx, hit);
	cut = this_cpu_read(pr->origin.outcomes->side[KPL_SIDE_FIRST].n[KPL_C_TRUNCATED]);
	hit->result = kpl_run(ctx, handler);
	if (likely(hit->result == KPL_RET_DONE)) {
		kpl_count(&pr->origin, hit->side, KPL_C_HANDLED);
	} else if (!last && kpl_user_lacks(ctx, hit)) {
		hit->missing = ctx->hit.bad_addr;
		this_cpu_write(pr->origin.outcomes->side[KPL_SIDE_FIRST].n[KPL_C_TRUNCATED], cut);
		kpl_end();
		return true;
	} else {
		kpl_user_ended(hit);
	}
	kpl_end();
	return false;
}

/* Those of loops, networks and of a process itself may be served by anybody. */
static bool kpl_is_disk(const struct block_device *disk)
{
	return disk->bd_disk->major != LOOP_MAJOR && disk->bd_disk->major != NBD_MAJOR &&
	       !strstarts(disk->bd_disk->disk_name, "ublk");
}

/*
 * Whether what is missing there comes from memory or a disk.  Another process,
 * such as a server of FUSE, may keep it back for ever, and meanwhile no uprobe
 * can be unregistered on the machine.
 */
static bool kpl_comes_by_itself(struct vm_area_struct *vma)
{
	const struct super_block *sb;

	if (userfaultfd_missing(vma) || userfaultfd_minor(vma))
		return false;
	/* A driver's memory comes as the driver has it. */
	if (vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP))
		return false;
	if (!vma->vm_file)
		return true;
	if (!S_ISREG(file_inode(vma->vm_file)->i_mode))
		return false;
	sb = file_inode(vma->vm_file)->i_sb;
	/* Of others, it isn't known what they wait for. */
	switch (sb->s_magic) {
	case BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
		return true;
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case EXFAT_SUPER_MAGIC:
	case UDF_SUPER_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
		return sb->s_bdev && kpl_is_disk(sb->s_bdev);
	}
	return false;
}

/*
 * Asks for the page of a file on a disk, which a fault might wait for.  0: it is
 * there, or the fault must read it: nothing is on its way to what lies in the
 * inode, in a hole or could not be read before.
 */
static vm_fault_t kpl_page_ask(struct vm_area_struct *vma, unsigned long addr)
{
	const struct super_block *sb = vma->vm_file ? file_inode(vma->vm_file)->i_sb : NULL;
	struct file *file = vma->vm_file;
	struct page *page;
	bool comes;
	pgoff_t at;

	if (!sb || !(sb->s_bdev || sb->s_magic == BTRFS_SUPER_MAGIC) || vma_is_dax(vma))
		return 0;
	at = linear_page_index(vma, addr);
	if (at >= DIV_ROUND_UP(i_size_read(file_inode(file)), PAGE_SIZE))
		return VM_FAULT_SIGBUS;
	page = find_get_page(file->f_mapping, at);
	if (!page) {
		page_cache_sync_readahead(file->f_mapping, &file->f_ra, file, at, 1);
		page = find_get_page(file->f_mapping, at);
	}
	if (!page)
		return 0;
	comes = PageLocked(page);
	put_page(page);
	return comes ? VM_FAULT_RETRY : 0;
}

/*
 * Who holds the lock may wait for such a process, too; and so may a disk that is
 * made of others' files, below what can be told here.  The fault says that it has
 * to wait instead of waiting.
 */
static vm_fault_t kpl_page_fault(struct mm_struct *mm, unsigned long addr)
{
	struct vm_area_struct *vma;
	vm_fault_t fault = VM_FAULT_SIGSEGV;

	if (!mmap_read_trylock(mm))
		return VM_FAULT_RETRY;
	vma = find_vma(mm, addr);
	if (vma && vma->vm_start <= addr && (vma->vm_flags & VM_READ) && kpl_comes_by_itself(vma))
		fault = kpl_page_ask(vma, addr) ?:
			handle_mm_fault(vma, addr & PAGE_MASK,
					FAULT_FLAG_ALLOW_RETRY | FAULT_FLAG_RETRY_NOWAIT, NULL);
	if (!(fault & VM_FAULT_COMPLETED))	/* which has given it back */
		mmap_read_unlock(mm);
	return fault;
}

/* Time is what counts, not sleeps: on a busy CPU they take longer. */
static vm_fault_t kpl_page_in_one(unsigned long addr, unsigned long wait)
{
	unsigned long end = jiffies + wait;
	vm_fault_t fault;

	while ((fault = kpl_page_fault(current->mm, addr)) & VM_FAULT_RETRY) {
		if (time_after_eq(jiffies, end) || fatal_signal_pending(current))
			break;
		usleep_range(50, 200);
	}
	return fault;
}

/*
 * Where a page has not come in time, nobody waits again before then (jiffies): on
 * that CPU, and in that task, which may move between the probes of a hit.  Whose
 * memory lacked it is all one: two processes could make each other's probes wait.
 * Tasks of one hash share theirs.
 */
#define KPL_LATE_BITS	10

static DEFINE_PER_CPU(unsigned long, kpl_late_here);
static unsigned long kpl_late_tasks[1 << KPL_LATE_BITS];

static unsigned long *kpl_late_task(void)
{
	return &kpl_late_tasks[hash_ptr(current, KPL_LATE_BITS)];
}

static bool kpl_is_late(void)
{
	return time_before(jiffies, READ_ONCE(*raw_cpu_ptr(&kpl_late_here))) ||
	       time_before(jiffies, READ_ONCE(*kpl_late_task()));
}

/* `cpu`: where the wait began. */
static void kpl_was_late(int cpu)
{
	unsigned long until = jiffies + HZ;

	WRITE_ONCE(per_cpu(kpl_late_here, cpu), until);
	WRITE_ONCE(*raw_cpu_ptr(&kpl_late_here), until);
	WRITE_ONCE(*kpl_late_task(), until);
}

/* Preemption on.  What is read may go on in the next page: it is never as long as one. */
static bool kpl_page_in(unsigned long addr)
{
	int cpu = raw_smp_processor_id();
	bool is_late = kpl_is_late();
	vm_fault_t fault = kpl_page_in_one(addr, is_late ? 0 : KPL_PAGE_WAIT);

	if (!(fault & (VM_FAULT_RETRY | VM_FAULT_ERROR))) {
		kpl_page_in_one(PAGE_ALIGN(addr + 1), 0);
		return true;
	}
	/* One that is being killed has not waited. */
	if ((fault & VM_FAULT_RETRY) && !is_late && !fatal_signal_pending(current))
		kpl_was_late(cpu);
	return false;
}

/* `data_size`: of what the call has kept for its return. */
static void kpl_user_handle(struct kpl_user_hit *hit, u32 data_size)
{
	bool again, last = false;
	u64 *kept = NULL;
	u32 runs = 0;

	if (data_size) {
		kept = hit->call->data + data_size / 8;
		memcpy(kept, hit->call->data, data_size);
	}
	for (;;) {
		preempt_disable();
		again = kpl_user_run(hit, last);
		preempt_enable();
		/* The kernel calls thousands of probes at one place in a row. */
		cond_resched();
		if (likely(!again))
			return;
		last = ++runs == KPL_USER_RUNS - 1 || !kpl_page_in(hit->missing);
		if (kept)
			memcpy(hit->call->data, kept, data_size);
	}
}

/* --------------------------------------------------------------------- hits */

/* Whether the process that the probe is for has this memory: its threads have the same. */
bool kpl_uprobe_wants(const struct kpl_uprobe *u, const struct mm_struct *mm)
{
	const struct task_struct *leader, *task;
	bool wants = false;

	if (!u->pid)
		return true;
	rcu_read_lock();
	leader = pid_task(u->pid, PIDTYPE_TGID);
	if (leader) {
		for_each_thread(leader, task) {
			const struct mm_struct *has = READ_ONCE(task->mm);

			wants = has == mm;
			if (has)
				break;
		}
	}
	rcu_read_unlock();
	return wants;
}

/* Refused by `when`, and counted. */
static bool kpl_user_skipped(const struct kpl_probe *pr)
{
	bool skipped;

	preempt_disable();
	skipped = kpl_over(pr) || kpl_skipped(pr);
	preempt_enable();
	return skipped;
}

/* A process that the probe is not for need not come by again. */
static int kpl_user_refused(const struct kpl_uprobe *u)
{
	return kpl_uprobe_wants(u, current->mm) ? 0 : UPROBE_HANDLER_REMOVE;
}

/*
 * For everybody, with a handler that reads no memory of the process: it lacks
 * none, and runs once.
 */
static int kpl_hit_user_once(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	preempt_disable();
	kpl_handle(kpl_uprobe_of(uc)->pr, KPL_SIDE_FIRST, regs);
	preempt_enable();
	cond_resched();
	return 0;
}

static int kpl_hit_user(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	const struct kpl_uprobe *u = kpl_uprobe_of(uc);
	struct kpl_user_hit hit = {
		.pr = u->pr, .regs = regs, .addr = instruction_pointer(regs),
	};

	if (u->pr->when.mask && kpl_user_skipped(u->pr))
		return kpl_user_refused(u);
	kpl_user_handle(&hit, 0);
	return 0;
}

kpl_user_fn *kpl_hit_user_for(const struct kpl_probe *pr)
{
	bool once = !pr->when.mask && pr->handler[KPL_SIDE_FIRST].looks != KPL_LOOKS_AT_ALL;

	return once ? kpl_hit_user_once : kpl_hit_user;
}

/* The kernel follows no more of a task's calls, and tells nobody. */
static bool kpl_user_too_deep(void)
{
	return current->utask && current->utask->depth >= MAX_URETPROBE_DEPTH;
}

int kpl_hit_user_call(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	const struct kpl_uprobe *u = kpl_uprobe_of(uc);
	const struct kpl_probe *pr = u->pr;
	struct kpl_user_hit hit = {
		.pr = pr, .regs = regs, .addr = instruction_pointer(regs),
	};

	if (pr->when.mask && kpl_user_skipped(pr))
		return kpl_user_refused(u);
	if (kpl_over(pr))
		return 0;
	hit.chained = kpl_user_chained(regs);
	if (!kpl_user_too_deep())
		hit.call = kpl_ucall_enter(u->calls, user_stack_pointer(regs), hit.chained);
	if (!hit.call) {
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_MISSED);
		return 0;
	}
	if (pr->handler[KPL_SIDE_FIRST].run)
		kpl_user_handle(&hit, 0);
	else
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_HANDLED);
	if (hit.result != KPL_RET_DONE || !pr->handler[KPL_SIDE_SECOND].run)
		kpl_ucall_give(u->calls, hit.call);
	return 0;
}

/* Of a call that was declined, or began before the probe was armed, nothing is known. */
int kpl_hit_user_return(struct uprobe_consumer *uc, unsigned long func, struct pt_regs *regs)
{
	const struct kpl_uprobe *u = kpl_uprobe_of(uc);
	struct kpl_user_hit hit = {
		.pr = u->pr, .side = KPL_SIDE_SECOND, .regs = regs, .addr = func,
		.call = kpl_ucall_leave(u->calls, user_stack_pointer(regs) - kpl_popped(regs)),
	};

	if (!hit.call)
		return 0;
	kpl_user_handle(&hit, u->calls->data_size);
	kpl_ucall_give(u->calls, hit.call);
	return 0;
}

#endif
