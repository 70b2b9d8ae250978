// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of a session.
 *
 * It belongs to the address space that opened it.  Handlers stop for good at
 * the first of: an explicit close by the opener, the end of its address space
 * (exit, exec, a kill at any moment: the mmu notifier), the release of the
 * file.  A file that a forked child or a mapping keeps open does not keep
 * probes armed.  The memory goes with the release.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/security.h>
#include <linux/slab.h>

#include "compat.h"
#include "map.h"
#include "probe.h"
#include "prog.h"
#include "ring.h"
#include "session.h"

/* What a session may hold: a quarter of the memory. */
#define KPL_MEMORY_SHARE	4

/* The list is locked before a session is. */
static LIST_HEAD(kpl_sessions);
static DEFINE_MUTEX(kpl_sessions_lock);

/* ------------------------------------------------------------------- rights */

int kpl_capable(void)
{
	if (!capable(CAP_SYS_ADMIN) && !(capable(CAP_PERFMON) && capable(CAP_BPF)))
		return -EPERM;
	return security_locked_down(LOCKDOWN_KPROBES);
}

int kpl_session_permit(const struct kpl_session *s)
{
	int err = kpl_capable();

	if (err)
		return err;
	return current->mm == s->mm ? 0 : -EXDEV;
}

/* ------------------------------------------------------------------- memory */

int kpl_charge(struct kpl_session *s, u64 bytes)
{
	u64 limit = (u64)totalram_pages() * PAGE_SIZE / KPL_MEMORY_SHARE;

	if (bytes > limit || atomic64_add_return(bytes, &s->memory) > limit) {
		if (bytes <= limit)
			kpl_uncharge(s, bytes);
		return -ENOMEM;
	}
	return 0;
}

void kpl_uncharge(struct kpl_session *s, u64 bytes)
{
	atomic64_sub(bytes, &s->memory);
}

struct kpl_scratch {
	u32 size;
	u64 charged;
	void *cpu[];	/* nr_cpu_ids */
};

static void kpl_scratch_free(struct kpl_session *s, struct kpl_scratch *scratch)
{
	u32 cpu;

	if (!scratch)
		return;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		kvfree(scratch->cpu[cpu]);
	kpl_uncharge(s, scratch->charged);
	kvfree(scratch);
}

static struct kpl_scratch *kpl_scratch_alloc(struct kpl_session *s, u32 size)
{
	u64 charged = (u64)size * num_possible_cpus();
	struct kpl_scratch *scratch;
	u32 cpu;

	if (kpl_charge(s, charged))
		return NULL;
	scratch = kvzalloc(struct_size(scratch, cpu, nr_cpu_ids), GFP_KERNEL_ACCOUNT);
	if (!scratch) {
		kpl_uncharge(s, charged);
		return NULL;
	}
	scratch->size = size;
	scratch->charged = charged;
	for_each_possible_cpu(cpu) {
		scratch->cpu[cpu] = kvzalloc_node(size, GFP_KERNEL_ACCOUNT, cpu_to_node(cpu));
		if (!scratch->cpu[cpu]) {
			kpl_scratch_free(s, scratch);
			return NULL;
		}
	}
	return scratch;
}

/* Nothing in scratch memory outlives a hit: a larger one simply takes over. */
int kpl_session_scratch(struct kpl_session *s, u32 size)
{
	struct kpl_scratch *old = s->scratch, *scratch;
	u32 cpu;

	size = roundup_pow_of_two(max(size, 64u));
	if (old && old->size >= size)
		return 0;
	scratch = kpl_scratch_alloc(s, size);
	if (!scratch)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(s->cpu, cpu)->scratch, scratch->cpu[cpu]);
	s->scratch = scratch;
	if (old) {
		kpl_hits_drain();
		kpl_scratch_free(s, old);
	}
	return 0;
}

/* --------------------------------------------------------------------- life */

static void kpl_session_woken(struct irq_work *work)
{
	struct kpl_session *s = container_of(work, struct kpl_session, wake);

	wake_up_poll(&s->wait, EPOLLIN);
}

void kpl_session_wake(struct kpl_session *s)
{
	irq_work_queue(&s->wake);
}

void kpl_session_close(struct kpl_session *s)
{
	mutex_lock(&s->lock);
	if (!s->closed) {
		WRITE_ONCE(s->closed, true);
		kpl_detach_all(s);
		irq_work_sync(&s->wake);
	}
	mutex_unlock(&s->lock);
	wake_up_poll(&s->wait, EPOLLHUP);
}

/* The opener's address space ends. */
static void kpl_session_orphaned(struct mmu_notifier *mn, struct mm_struct *mm)
{
	kpl_session_close(container_of(mn, struct kpl_session, mn));
}

static const struct mmu_notifier_ops kpl_session_mn_ops = {
	.release = kpl_session_orphaned,
};

static void kpl_session_free(struct kpl_session *s)
{
	kpl_probes_free(s);
	kpl_progs_free(s);
	kpl_maps_free(s);
	kpl_rings_free(s);
	kpl_scratch_free(s, s->scratch);
	free_percpu(s->cpu);
	mutex_destroy(&s->maps_lock);
	mutex_destroy(&s->lock);
	kvfree(s);
}

struct kpl_session *kpl_session_open(void)
{
	struct kpl_session *s;
	int err;

	s = kvzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);
	mutex_init(&s->lock);
	mutex_init(&s->maps_lock);
	init_waitqueue_head(&s->wait);
	init_irq_work(&s->wake, kpl_session_woken);
	xa_init_flags(&s->maps, XA_FLAGS_ALLOC);
	xa_init_flags(&s->progs, XA_FLAGS_ALLOC);
	xa_init(&s->probes);
	s->mm = current->mm;
	s->tgid = current->tgid;
	s->mn.ops = &kpl_session_mn_ops;

	err = -ENOMEM;
	s->cpu = alloc_percpu_gfp(struct kpl_session_cpu, GFP_KERNEL_ACCOUNT);
	if (!s->cpu)
		goto fail;
	s->live = s->cpu;
	err = kpl_session_scratch(s, 0);
	if (err)
		goto fail;
	err = kpl_probe_dry(s);
	if (err)
		goto fail;
	err = mmu_notifier_register(&s->mn, s->mm);
	if (err)
		goto fail;
	mutex_lock(&kpl_sessions_lock);
	list_add(&s->list, &kpl_sessions);
	mutex_unlock(&kpl_sessions_lock);
	return s;

fail:
	kpl_session_free(s);
	return ERR_PTR(err);
}

void kpl_session_release(struct kpl_session *s)
{
	kpl_session_close(s);
	mutex_lock(&kpl_sessions_lock);
	list_del(&s->list);
	mutex_unlock(&kpl_sessions_lock);
	/* Waits until a notification under way has ended. */
	mmu_notifier_unregister(&s->mn, s->mm);
	irq_work_sync(&s->wake);
	kpl_session_free(s);
}

void kpl_sessions_each(void (*fn)(struct kpl_session *s, void *arg), void *arg)
{
	struct kpl_session *s;

	mutex_lock(&kpl_sessions_lock);
	list_for_each_entry(s, &kpl_sessions, list) {
		mutex_lock(&s->lock);
		fn(s, arg);
		mutex_unlock(&s->lock);
	}
	mutex_unlock(&kpl_sessions_lock);
}

/* --------------------------------------------------------------------- file */

__poll_t kpl_session_poll(struct kpl_session *s, struct file *file, poll_table *table)
{
	__poll_t events = 0;

	poll_wait(file, &s->wait, table);
	if (READ_ONCE(s->closed))
		events |= EPOLLHUP;
	if (READ_ONCE(s->exiting) || atomic64_read(&s->stops) != READ_ONCE(s->stops_seen) ||
	    kpl_rings_ready(s))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

/* mmap_lock is held: s->lock must not be taken. */
int kpl_session_mmap(struct kpl_session *s, struct vm_area_struct *vma)
{
	u64 off = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 rest = off & ((1ull << KPL_OFF_SHIFT) - 1);
	int err = kpl_session_permit(s);

	if (err)
		return err;
	if (READ_ONCE(s->closed))
		return -ESHUTDOWN;
	switch (off >> KPL_OFF_SHIFT) {
	case KPL_OFF_CTL:
		return kpl_ring_mmap_ctl(s, vma, rest);
	case KPL_OFF_DATA:
		return kpl_ring_mmap_data(s, vma, rest);
	case KPL_OFF_MAP:
		return kpl_map_mmap(s, vma, rest);
	}
	return -EINVAL;
}

int kpl_session_info(struct kpl_session *s, struct kpl_info *info)
{
	u64 stops = atomic64_read(&s->stops);
	u32 exiting = smp_load_acquire(&s->exiting);	/* before its code */

	*info = (struct kpl_info) {
		.abi = KPL_ABI_VERSION,
		.nr_cpus = nr_cpu_ids,
		.features = kpl_features(),
		.abi_hash = KPL_ABI_HASH,
		.exiting = exiting,
		.exit_code = s->exit_code,
		.stops = stops,
		.memory = atomic64_read(&s->memory),
		.work_done = READ_ONCE(s->work_done),
		.work_total = READ_ONCE(s->work_total),
	};
	if (current->mm == s->mm)
		WRITE_ONCE(s->stops_seen, stops);
	return 0;
}

int kpl_free(struct kpl_session *s, struct kpl_free *arg)
{
	switch (arg->kind) {
	case KPL_FREE_MAP:
		return kpl_map_drop(s, arg->id);
	case KPL_FREE_PROG:
		return kpl_prog_drop(s, arg->id);
	}
	return -EINVAL;
}

/* A thread's own number is no process. */
int kpl_pid(struct kpl_session *s, struct kpl_pid *arg)
{
	struct pid *pid;
	int err = -ESRCH;

	if (arg->reserved)
		return -EINVAL;
	rcu_read_lock();
	pid = find_vpid(arg->pid);
	if (pid && pid_task(pid, PIDTYPE_TGID)) {
		arg->pid = pid_nr(pid);
		err = 0;
	}
	rcu_read_unlock();
	return err;
}
