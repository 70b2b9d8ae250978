// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The helpers that walk stacks.  Any context, preemption off. */
#include <linux/ptrace.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86
#include <asm/unwind.h>
#endif

#include "hit.h"
#include "probe.h"

/*
 * Where the probed code stands: the probe's address before and at the
 * function's entry, where the registers may already point behind it, else the
 * instruction pointer.
 */
static u64 kpl_stack_top(const struct kpl_hit *hit, struct pt_regs *regs)
{
	u64 ip = instruction_pointer(regs);

	return ip - hit->addr < 16 ? hit->addr : ip;
}

#ifdef CONFIG_X86
/* From the registers of the hit on: nothing of ours is in it. */
static u32 kpl_unwind(struct pt_regs *regs, unsigned long *out, u32 room)
{
	struct unwind_state state;
	u32 nr = 0;

	for (unwind_start(&state, current, regs, NULL); nr < room && !unwind_done(&state);
	     unwind_next_frame(&state)) {
		unsigned long addr = unwind_get_return_address(&state);

		if (!addr)
			break;
		out[nr++] = addr;
	}
	return nr;
}
#else
static u32 kpl_unwind(struct pt_regs *regs, unsigned long *out, u32 room)
{
	return stack_trace_save(out, room, 0);
}
#endif

u64 kpl_h_kstack(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	const struct kpl_hit *hit = (const struct kpl_hit *)r1;
	struct pt_regs *regs = (struct pt_regs *)hit->regs;
	unsigned long *out = (unsigned long *)r2;
	u32 room = r3 / 8, nr = 0;

	if (room) {
		out[0] = kpl_stack_top(hit, regs);
		nr = 1 + kpl_unwind(regs, out + 1, room - 1);
	}
	memset(out + nr, 0, r3 - nr * 8);
	return nr;
}

/* By frame pointers; a program built without them shows its innermost function. */
u64 kpl_h_ustack(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct pt_regs *regs = task_pt_regs(current);
	unsigned long *out = (unsigned long *)r2;
	u32 room = r3 / 8, nr = 0;
	unsigned long fp, frame[2];

	if (current->mm && user_mode(regs) && room) {
		out[nr++] = instruction_pointer(regs);
		fp = frame_pointer(regs);
		while (nr < room && fp && fp % sizeof(fp) == 0) {
			if (copy_from_user_nofault(frame, (void __user *)fp, sizeof(frame)))
				break;
			if (!frame[1])
				break;
			out[nr++] = frame[1];
			if (frame[0] <= fp)
				break;
			fp = frame[0];
		}
	}
	memset(out + nr, 0, r3 - nr * 8);
	return nr;
}
