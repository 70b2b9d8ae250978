// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Watchpoints on the kernel's data: breakpoints of the processor, on each CPU.
 * Process context, but for the hits.
 *
 * On arm64 the kernel steps over the access only for callbacks of its own: the
 * same store would trap for ever.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include "common.h"
#include "event.h"
#include "handle.h"
#include "memory.h"
#include "watch.h"

#if defined(CONFIG_X86) && defined(CONFIG_HAVE_HW_BREAKPOINT)
#include <asm/current.h>
#include <asm/nospec-branch.h>
#include <asm/processor.h>
#include <asm/special_insns.h>

static bool kpl_overlaps(u64 addr, u32 len, const void *what, u32 size)
{
	return addr < (unsigned long)what + size && (unsigned long)what < addr + len;
}

/* What is there, or 0; any context. */
static bool kpl_watch_read(const struct kpl_probe *pr, u64 *value)
{
	*value = 0;
	return kpl_peek(value, pr->origin.addr, pr->len);
}

/*
 * A hit: right after the access, as an NMI is.  Before it was what the last hit
 * saw: others may have come between that were missed, and devices trap nobody.
 * The access may be one by which a page fault begins, whose address is still to
 * be read: a fault of ours would leave another one there.
 */
static void kpl_hit_watch(struct perf_event *event, struct perf_sample_data *data,
			  struct pt_regs *regs)
{
	struct kpl_probe *pr = event->overflow_handler_context;
	struct kpl_ctx *ctx = kpl_ctx_here();
	unsigned long fault = read_cr2();
	u64 values[2];

	if (kpl_over(pr) || (pr->when.mask && kpl_skipped(pr)))
		return;
	if (!kpl_begin(ctx, pr, KPL_SIDE_FIRST))
		return;
	kpl_watch_read(pr, &values[1]);
	values[0] = xchg(&pr->seen, values[1]);
	ctx->hit.regs = (unsigned long)regs;
	ctx->hit.data = (unsigned long)values;
	kpl_run_begun(pr, ctx, KPL_SIDE_FIRST);
	if (unlikely(read_cr2() != fault))
		write_cr2(fault);
}

/*
 * Where registers are put when a task enters the kernel from user space: by the
 * trap's own way in, too, before it leaves the stack that a second trap would
 * begin again at the top of.  Other tasks may have these stacks tomorrow.
 */
static bool kpl_is_top_of_stack(u64 addr, u32 len)
{
	u32 top = sizeof(struct pt_regs) + TOP_OF_KERNEL_STACK_PADDING;

	if (IS_ENABLED(CONFIG_VMAP_STACK) ? !is_vmalloc_addr((void *)addr) :
					    !virt_addr_valid(addr) || addr >= __START_KERNEL_map)
		return false;
	return (addr & (THREAD_SIZE - 1)) + len > THREAD_SIZE - top;
}

/*
 * What a CPU finds that stack by, and itself; where no symbol tells, what lies
 * around the current task.
 */
static bool kpl_is_of_entry(u64 addr, u32 len, u32 cpu)
{
#ifdef KPL_HAVE_PCPU_HOT
	return kpl_overlaps(addr, len, per_cpu_ptr(&pcpu_hot, cpu), sizeof(struct pcpu_hot));
#else
#ifdef CONFIG_SMP
	if (kpl_overlaps(addr, len, per_cpu_ptr(&cpu_number, cpu), sizeof(u32)))
		return true;
#endif
	return kpl_overlaps(addr, len, (void *)per_cpu_ptr(&current_task, cpu) - 256, 512);
#endif
}

/*
 * Whether the processor's way into the trap itself goes over it, with breakpoints
 * still on, or an NMI's that comes in between: it would never get there.  The
 * kernel refuses the rest of these.
 */
static bool kpl_is_of_trap(u64 addr, u32 len)
{
	unsigned int cpu;

	if (kpl_overlaps(addr, len, &x86_pred_cmd, sizeof(x86_pred_cmd)) ||
	    kpl_overlaps(addr, len, &__cpu_online_mask, sizeof(__cpu_online_mask)) ||
	    kpl_is_top_of_stack(addr, len))
		return true;
	for_each_possible_cpu(cpu) {
#ifdef CONFIG_SMP
		if (kpl_overlaps(addr, len, per_cpu_ptr(&this_cpu_off, cpu), sizeof(u64)))
			return true;
#endif
		if (kpl_is_of_entry(addr, len, cpu) ||
		    kpl_overlaps(addr, len, per_cpu_ptr(&x86_spec_ctrl_current, cpu), sizeof(u64)))
			return true;
#ifdef CONFIG_STACKPROTECTOR
		if (kpl_overlaps(addr, len, &per_cpu_ptr(&fixed_percpu_data, cpu)->stack_canary,
				 sizeof(u64)))
			return true;
#endif
	}
	return false;
}

static int kpl_watch_add_one(struct kpl_probe *pr)
{
	const struct kpl_prog *prog = pr->handler[KPL_SIDE_FIRST].prog;
	u64 addr = pr->origin.addr;
	struct perf_event_attr attr;

	if (prog->data_size > 16 || kpl_is_of_trap(addr, pr->len))
		return -EINVAL;
	/* The process's are not ours to watch. */
	if (!kpl_watch_read(pr, &pr->seen))
		return -EFAULT;
	hw_breakpoint_init(&attr);
	attr.bp_addr = addr;
	attr.bp_len = pr->len;
	attr.bp_type = pr->event == KPL_EVENT_WRITE ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
	pr->events = kpl_events_alloc(pr, &attr, false, kpl_hit_watch);
	return pr->events ? 0 : -ENOMEM;
}

static void kpl_watch_add(struct kpl_probe **prs, u32 nr)
{
	kpl_add_each(prs, nr, kpl_watch_add_one);
}

/* What has changed while it was off is not seen as a change. */
static void kpl_watch_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (!prs[i]->armed)
			kpl_watch_read(prs[i], &prs[i]->seen);
	kpl_events_arm(prs, nr);
}

#else

#define kpl_watch_add	kpl_add_none
#define kpl_watch_arm	kpl_events_arm
#endif

const struct kpl_probe_ops kpl_watch_ops = {
	.kind = KPL_PROBE_WATCH,
	.rules.takes = KPL_TAKES_WATCH,
	.memory = kpl_events_memory,
	.kinds = { KPL_PROG_WATCH, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_watch_add,
	.run[KPL_OP_ARM] = kpl_watch_arm,
	.run[KPL_OP_DISARM] = kpl_events_disarm,
	.run[KPL_OP_REMOVE] = kpl_events_remove,
	.free = kpl_events_free,
	.state = kpl_plain_state,
	.stats = kpl_hit_stats,
};
