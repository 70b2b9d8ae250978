// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The helpers that walk stacks.  Any context, preemption off. */
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86
#include <asm/cpu_entry_area.h>
#include <asm/unwind.h>
#endif

#include "compat.h"
#include "guard.h"
#include "memory.h"
#include "words.h"

/* Bytes of a function that calls the probes of a tracepoint, roughly. */
#define KPL_TRACEITER_SIZE	256

/*
 * Where the probed code stands: the probe's address before and at the
 * function's entry, where the registers may already point behind it, and where
 * the handler has had it go on elsewhere; else the instruction pointer.
 */
static u64 kpl_stack_top(const struct kpl_ctx *ctx, struct pt_regs *regs)
{
	u64 ip = instruction_pointer(regs), addr = ctx->hit.addr;

	return ctx->moved || ip - addr < 16 ? addr : ip;
}

#ifdef CONFIG_UNWINDER_GUESS
/* It asks of each word of the stack whether that is text: a step has no bound. */
static u32 kpl_unwind(struct pt_regs *regs, void *below, u64 left_out, unsigned long *out,
		      u32 room)
{
	return 0;
}
#elif defined(CONFIG_X86)
/*
 * What the unwinder has found in its own tables is text: to ask for it again
 * would take as long as the step.
 */
static __always_inline unsigned long kpl_frame_address(struct unwind_state *state)
{
#ifdef CONFIG_UNWINDER_ORC
	if (likely(!unwind_error(state)))
		return state->ip;
#endif
	return unwind_get_return_address(state);
}

/*
 * From the registers on; without any, from the frame that lies above `below`.
 * `left_out`: a function that the kernel calls handlers through, or 0.
 */
static u32 kpl_unwind(struct pt_regs *regs, void *below, u64 left_out, unsigned long *out,
		      u32 room)
{
	struct unwind_state state;
	u32 nr = 0;

	for (unwind_start(&state, current, regs, below); nr < room && !unwind_done(&state);
	     unwind_next_frame(&state)) {
		unsigned long addr = kpl_frame_address(&state);

		/* None, or where the process goes on: the walk ends behind that frame. */
		if ((long)addr >= 0)
			break;
		if (!nr && addr - left_out < KPL_TRACEITER_SIZE)
			continue;
		out[nr++] = addr;
	}
	return nr;
}
#else
static u32 kpl_unwind(struct pt_regs *regs, void *below, u64 left_out, unsigned long *out,
		      u32 room)
{
	return stack_trace_save(out, room, 0);
}
#endif

#ifdef CONFIG_UNWINDER_ORC
/* Where, by the unwinder's tables, the frame pointer tells where the caller's frame is. */
static noinline unsigned long kpl_in_frame(void)
{
	const void *frame = __builtin_frame_address(0);
	unsigned long ip;

	asm volatile("lea 0(%%rip), %0" : "=r" (ip) : "r" (frame));
	return ip;
}
#endif

/*
 * From the call on that led to a function with this frame (`frame`: where
 * __builtin_frame_address() says).  What stands below is passed by: of a program's
 * native code, which runs there, the unwinder knows nothing, looks for it in all
 * that the kernel has made of code, and doubts the rest.
 */
static u32 kpl_caller_stack(const void *frame, u64 left_out, unsigned long *out, u32 room)
{
#ifdef CONFIG_UNWINDER_ORC
	struct pt_regs regs = {
		.ip = kpl_in_frame(),
		.sp = (unsigned long)frame,
		.bp = (unsigned long)frame,
		.cs = __KERNEL_CS,
	};

	return kpl_unwind(&regs, NULL, left_out, out, room);
#else
	return kpl_unwind(NULL, (void *)frame, left_out, out, room);
#endif
}

/*
 * Before its instruction runs, a kprobe's instruction pointer is behind the first byte.  That
 * may be all of it, such as of a push: the stack there is not as it is now.  Nor is it where the
 * handler has had it go on.
 */
static u32 kpl_probed_stack(const struct kpl_ctx *ctx, struct pt_regs *regs, unsigned long *out,
			    u32 room)
{
	unsigned long ip = instruction_pointer(regs), addr = ctx->hit.addr, first = ip - 1 - addr;
	u32 nr;

	if (ctx->moved)
		instruction_pointer_set(regs, addr);
	else if (!first || first == KPL_LANDING_PAD)
		instruction_pointer_set(regs, ip - 1);
	nr = kpl_unwind(regs, NULL, 0, out, room);
	instruction_pointer_set(regs, ip);
	return nr;
}

/* Zeros behind the last address, to the last byte of the memory. */
static void kpl_stack_end(u64 *out, u32 nr, u32 size)
{
	kpl_words_zero(out + nr, size / 8 - nr);
	memset(out + size / 8, 0, size % 8);
}

/* A dry run has no stack: the kernel's walk trusts the registers that it begins with. */
u64 kpl_h_kstack(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_hit *hit = (const struct kpl_hit *)r1;
	struct pt_regs *regs = (struct pt_regs *)hit->regs;
	struct kpl_ctx *ctx = kpl_ctx_of(r1);
	unsigned long *out = (unsigned long *)r2;
	u32 room = r3 / 8, nr = 0;

	if (!regs) {
		/* A tracepoint's.  Of several probes at one, `func` of the kernel's calls each. */
		if (!ctx->origin->dry)
			nr = kpl_caller_stack(kpl_values_of(hit->data)->frame, hit->func, out,
					      room);
	} else if (ctx->regs_are == KPL_REGS_CALLER) {
		nr = kpl_caller_stack((void *)regs->sp, 0, out, room);
	} else if (room && !user_mode(regs)) {
		out[0] = kpl_stack_top(ctx, regs);
		nr = 1;
		if (ctx->regs_are == KPL_REGS_EXACT)
			nr += kpl_unwind(regs, NULL, 0, out + 1, room - 1);
		else if (!ctx->origin->dry)
			nr += kpl_probed_stack(ctx, regs, out + 1, room - 1);
	}
	kpl_stack_end((u64 *)out, nr, r3);
	return nr;
}

/*
 * The caller's frames, from the frame pointer on.  A program that sets it to
 * anything else ends the walk.
 */
static u32 kpl_user_frames(struct kpl_ctx *ctx, unsigned long fp, u64 *out, u32 room)
{
	unsigned long next, addr;
	u32 nr = 0;

	if (!room || !kpl_user_begin(ctx, fp, sizeof(next)))
		return 0;
	while (nr < room && fp % sizeof(fp) == 0 && kpl_user_address(fp)) {
		unsafe_get_user(next, (unsigned long __user *)fp, fault);
		unsafe_get_user(addr, (unsigned long __user *)fp + 1, fault);
		if (!addr)
			break;
		out[nr++] = addr;
		if (next <= fp)
			break;
		fp = next;
	}
	kpl_user_end();
	return nr;
fault:
	kpl_user_end();
	kpl_fault_count(ctx);
	return nr;
}

/* A function that has just been entered has no frame yet: where it returns to stands apart. */
static u32 kpl_user_caller(struct kpl_ctx *ctx, struct pt_regs *regs, u64 *out, u32 room)
{
#ifdef CONFIG_X86
	unsigned long sp = user_stack_pointer(regs), addr;

	if (!room || !kpl_user_begin(ctx, sp, sizeof(addr)))
		return 0;
	unsafe_get_user(addr, (unsigned long __user *)sp, fault);
	kpl_user_end();
	*out = addr;
	return 1;
fault:
	kpl_user_end();
	kpl_fault_count(ctx);
	return 0;
#else
	if (!room)
		return 0;
	*out = procedure_link_pointer(regs);
	return 1;
#endif
}

/* Of 32 bits: its frames are laid out in another way. */
static bool kpl_is_narrow(struct pt_regs *regs)
{
#ifdef CONFIG_X86
	return !user_64bit_mode(regs);
#else
	return compat_user_mode(regs);
#endif
}

/*
 * Whether the task's registers are on their way to where they lie, as an NMI may find
 * them: what is there was left by its last way into the kernel.
 */
static bool kpl_is_entering(const struct pt_regs *regs, const struct pt_regs *user)
{
#ifdef CONFIG_X86_64
	const u64 entry_stack = offsetof(struct cpu_entry_area, entry_stack_page);
	u64 at;

	if (!regs || user_mode((struct pt_regs *)regs))
		return false;
	/* On the program's stack still, or with another word in its place. */
	if (regs->sp >> 56 != 0xff)
		return true;
	if (regs->sp > (unsigned long)user && regs->sp <= (unsigned long)(user + 1))
		return true;
	at = regs->sp - 1 - CPU_ENTRY_AREA_PER_CPU;
	return at < CPU_ENTRY_AREA_MAP_SIZE &&
	       at % CPU_ENTRY_AREA_SIZE - entry_stack < sizeof(struct entry_stack_page);
#else
	return false;
#endif
}

/* By frame pointers; a program built without them, or of 32 bits, shows its innermost function. */
u64 kpl_h_ustack(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct kpl_ctx *ctx = kpl_ctx_of(r1);
	u32 room = r3 / 8, nr = 0;
	u64 *out = (u64 *)r2;

	/* Kernel threads that work for a process, such as io_uring's, are nowhere in it. */
	if (current->mm && user_mode(regs) && instruction_pointer(regs) && room &&
	    !kpl_is_entering((const struct pt_regs *)ctx->hit.regs, regs)) {
		out[nr++] = instruction_pointer(regs);
		if (kpl_is_narrow(regs))
			room = nr;
		if (ctx->origin->entry && ctx->hit.addr == out[0])
			nr += kpl_user_caller(ctx, regs, out + nr, room - nr);
		nr += kpl_user_frames(ctx, frame_pointer(regs), out + nr, room - nr);
	}
	kpl_stack_end(out, nr, r3);
	return nr;
}
