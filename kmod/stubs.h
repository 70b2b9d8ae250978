/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Stubs: what a function with a return probe is called through, in a module of
 * their own.  ftrace's site at the function's entry calls the stub, the stub
 * the rest of the function: what must be kept from the entry to the return
 * lies on the task's own stack.
 *
 * A call that is under way returns to its stub, whatever has been detached or
 * unloaded meanwhile, and may sleep for ever: the stubs' module stays until the
 * last one has returned, and calls nothing of a user who has left.  This file
 * is for C and assembly.
 */
#ifndef KPL_STUBS_H
#define KPL_STUBS_H

/* Of each kind of stub (enum kpl_stub_kind), in this order: M(number) for each, and how many there are. */
#define KPL_EACH_TEN(M, t) \
	M(t##0) M(t##1) M(t##2) M(t##3) M(t##4) M(t##5) M(t##6) M(t##7) M(t##8) M(t##9)
#define KPL_EACH_ONE(M) \
	M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) M(9) KPL_EACH_TEN(M, 1) KPL_EACH_TEN(M, 2)
#define KPL_EACH_ONE_STACK(M)	KPL_EACH_TEN(M, 3)
#define KPL_EACH_MANY(M)	KPL_EACH_TEN(M, 4)
#define KPL_EACH_MANY_STACK(M)	KPL_EACH_TEN(M, 5)
#define KPL_STUBS_ONE		30
#define KPL_STUBS_ONE_STACK	10
#define KPL_STUBS_MANY		10
#define KPL_STUBS_MANY_STACK	10
#define KPL_STUBS		(KPL_STUBS_ONE + KPL_STUBS_ONE_STACK + \
				 KPL_STUBS_MANY + KPL_STUBS_MANY_STACK)

/* Words of arguments on the stack that a stub of the kinds …_STACK passes on. */
#define KPL_STUB_STACK_ARGS	8

/* struct kpl_frame */
#define KPL_FRAME_R9		64
#define KPL_FRAME_R8		72
#define KPL_FRAME_AX		80
#define KPL_FRAME_CX		88
#define KPL_FRAME_DX		96
#define KPL_FRAME_SI		104
#define KPL_FRAME_DI		112
#define KPL_FRAME_STUB		120
#define KPL_FRAME_CALL		168
#define KPL_FRAME_SIZE		248

/* struct kpl_stub */
#define KPL_STUB_CALL		0
#define KPL_STUB_SHIFT		5	/* log2 of its size */

#ifndef __ASSEMBLY__
#include <linux/ptrace.h>
#include <linux/types.h>

#include "compat.h"

#ifdef KPL_DIRECT_CALLS

/* Grows with each change of what stands here: two builds of the modules may meet. */
#define KPL_STUBS_ABI		2
#define KPL_FRAME_DATA		64	/* bytes of a call's private data */

enum kpl_stub_kind {
	KPL_STUB_ONE,		/* of one function, all of whose arguments are in registers */
	KPL_STUB_ONE_STACK,	/* of one that has some on the stack */
	KPL_STUB_MANY,
	KPL_STUB_MANY_STACK,
	KPL_STUB_KINDS
};

/*
 * What a call leaves on its task's stack.  Behind it lie the caller's frame
 * pointer; of a stub of many functions, where the function goes on; and the
 * address that the function returns to.
 *
 * The stub writes the registers of the first six arguments and orig_ax before
 * `enter`, ax and dx before `exit`, and `call`; nothing else.
 */
struct kpl_frame {
	struct pt_regs regs;		/* orig_ax: the stub, by which searches of stacks find the frame */
	u64 call;			/* the stub's when the function was entered; odd: no `exit` wanted */
	const void *probe;		/* the user's */
	u64 data[KPL_FRAME_DATA / 8];
};

/* What a stub reads at each call. */
struct kpl_stub {
	/*
	 * Never the same for two functions, nor for one that comes again: what
	 * a returning call brings that was entered before is not this.  Odd:
	 * none is served.
	 */
	u64 call;
	/* The user's; written while nobody is called through the stub. */
	const void *owner;
	unsigned long __percpu *count;
	u64 reserved;
};

static_assert(sizeof(struct kpl_frame) == KPL_FRAME_SIZE);
static_assert(offsetof(struct kpl_frame, regs.r9) == KPL_FRAME_R9);
static_assert(offsetof(struct kpl_frame, regs.r8) == KPL_FRAME_R8);
static_assert(offsetof(struct kpl_frame, regs.ax) == KPL_FRAME_AX);
static_assert(offsetof(struct kpl_frame, regs.cx) == KPL_FRAME_CX);
static_assert(offsetof(struct kpl_frame, regs.dx) == KPL_FRAME_DX);
static_assert(offsetof(struct kpl_frame, regs.si) == KPL_FRAME_SI);
static_assert(offsetof(struct kpl_frame, regs.di) == KPL_FRAME_DI);
static_assert(offsetof(struct kpl_frame, regs.orig_ax) == KPL_FRAME_STUB);
static_assert(offsetof(struct kpl_frame, call) == KPL_FRAME_CALL);
static_assert(sizeof(struct kpl_stub) == 1 << KPL_STUB_SHIFT);
static_assert(offsetof(struct kpl_stub, call) == KPL_STUB_CALL);

/*
 * Called by a stub before and after the function.  Any context, preemption as
 * the function's caller has it.  `behind` is where the function goes on, of a
 * stub of many; else it means nothing.
 */
typedef void kpl_enter_fn(struct kpl_frame *frame, const struct kpl_stub *stub,
			  unsigned long behind);
typedef void kpl_exit_fn(struct kpl_frame *frame, const struct kpl_stub *stub);

/* What the stubs' module gives.  Process context; may sleep. */
struct kpl_stubs {
	u32 abi;

	/* NULL: all are in use. */
	struct kpl_stub *(*take)(enum kpl_stub_kind kind);
	/* Where functions are to be called from; `behind` is of the one function, else 0. */
	unsigned long (*aim)(struct kpl_stub *stub, unsigned long behind,
			     kpl_enter_fn *enter, kpl_exit_fn *exit);
	/*
	 * Nobody enters any more.  No `exit` runs for the calls that are under
	 * way, but for those that run now: wait, then give it back.
	 */
	void (*end)(struct kpl_stub *stub);
	void (*give)(struct kpl_stub *stub);
	/* All were given back: afterwards nothing of the user's is called, or running. */
	void (*leave)(void);
};

extern const struct kpl_stubs kpl_stubs;

#endif
#endif
#endif
