/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What differs between kernels.  Kbuild compiles a few lines for each feature
 * and defines KPL_HAVE_*: versions are never compared.
 */
#ifndef KPL_COMPAT_H
#define KPL_COMPAT_H

#include <linux/ftrace.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/version.h>

#if !defined(CONFIG_KRETPROBES) || !defined(CONFIG_TRACEPOINTS) || !defined(CONFIG_64BIT)
#error "kprobe_lua needs CONFIG_KRETPROBES, CONFIG_TRACEPOINTS and a 64-bit kernel"
#endif
#ifndef CONFIG_BPF
#error "kprobe_lua needs CONFIG_BPF, for native code: CONFIG_NET or CONFIG_BPF_SYSCALL selects it"
#endif
/* A probe's code is called by functions of the kernel that know another type of it. */
#ifdef CONFIG_CFI_CLANG
#error "kprobe_lua can't run in a kernel with CONFIG_CFI_CLANG"
#endif
/* Text would lie outside the section that the kernel takes no probes in. */
#ifdef CONFIG_LTO_CLANG
#error "kprobe_lua can't be built for a kernel with CONFIG_LTO_CLANG"
#endif

#ifndef KPL_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#ifndef KPL_HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

#ifdef CONFIG_DYNAMIC_FTRACE
/* The instruction behind a site: where a post handler's instruction pointer stands. */
static __always_inline unsigned long kpl_behind_site(unsigned long site)
{
	return site + MCOUNT_INSN_SIZE;
}
#endif

/* Where the scheduler counts, perf makes up registers of its caller (perf_arch_fetch_caller_regs()). */
static inline bool kpl_are_perfs_own(const struct pt_regs *regs)
{
#ifdef CONFIG_X86
	return !(regs->flags & X86_EFLAGS_FIXED);
#else
	return false;
#endif
}

/*
 * The kernel runs the instruction elsewhere and jumps back from there: it calls no post
 * handler.  It has decided that for the first kprobe of a place, whatever comes later.
 */
static inline bool kpl_is_boosted(const struct kprobe *kp)
{
#ifdef CONFIG_X86
	return kp->ainsn.boostable;
#else
	return false;
#endif
}

#define KPL_LANDING_PAD	4	/* bytes of endbr64, which may stand before a site */

/*
 * As the compiler put it, or as the kernel sealed it where no indirect call
 * leads.
 */
static inline bool kpl_is_landing_pad(const u8 *text)
{
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa }, sealed[] = { 0x66, 0x0f, 0x1f, 0x00 };

	return IS_ENABLED(CONFIG_X86_64) && (!memcmp(text, endbr, sizeof(endbr)) ||
					     !memcmp(text, sealed, sizeof(sealed)));
}

/*
 * Entry probes by an ftrace_ops of our own: where ftrace hands over registers
 * that lie as in pt_regs (the argument registers, unless all were asked for).
 */
#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) && \
	defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS)
#define KPL_TRACES

/* A call, the nop in its place, or the breakpoint that stands there during the change. */
static inline bool kpl_is_ftrace_site(const u8 *text)
{
	static const u8 nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	return *text == 0xe8 || *text == 0xcc || !memcmp(text, nop, sizeof(nop));
}

static __always_inline struct pt_regs *kpl_ftrace_regs(struct ftrace_regs *fregs)
{
	return (struct pt_regs *)fregs;
}

/* What a kprobe's handler sees as instruction pointer: behind the breakpoint. */
static __always_inline unsigned long kpl_kprobe_ip(unsigned long site)
{
	return site + 1;
}

/* The registers that ftrace hands over where not all were asked for. */
#define KPL_TRACE_REG(name)	(1ull << (offsetof(struct pt_regs, name) / 8))
#define KPL_TRACE_REGS \
	(KPL_TRACE_REG(di) | KPL_TRACE_REG(si) | KPL_TRACE_REG(dx) | KPL_TRACE_REG(cx) | \
	 KPL_TRACE_REG(r8) | KPL_TRACE_REG(r9) | KPL_TRACE_REG(ax) | KPL_TRACE_REG(bp) | \
	 KPL_TRACE_REG(sp) | KPL_TRACE_REG(ip))
#else
#define KPL_TRACE_REG(name)	0ull
#define KPL_TRACE_REGS		0ull
#endif

/* What handlers may change: all that the kernel loads again wherever a probe stands, but sp, flags and the like. */
#ifdef CONFIG_X86_64
#define KPL_REG_BIT(name)	(1ull << (offsetof(struct pt_regs, name) / 8))
#define KPL_REG_RETURN		KPL_REG_BIT(ax)
#define KPL_WRITE_REGS \
	(KPL_REG_BIT(di) | KPL_REG_BIT(si) | KPL_REG_BIT(dx) | KPL_REG_BIT(cx) | KPL_REG_BIT(r8) | \
	 KPL_REG_BIT(r9) | KPL_REG_BIT(ax) | KPL_REG_BIT(bx) | KPL_REG_BIT(bp) | KPL_REG_BIT(r10) | \
	 KPL_REG_BIT(r12) | KPL_REG_BIT(r13) | KPL_REG_BIT(r14) | KPL_REG_BIT(r15))
#else
#define KPL_REG_RETURN		0ull
#define KPL_WRITE_REGS		0ull
#endif

/*
 * Calls of a function by way of a stub of ours, for all functions of an
 * ftrace_ops.  An ops that was taken away is used no more: its filter is freed.
 * Not where the kernel walks stacks by frame pointers: a stub of many has none that
 * leads to its caller, which would be missing.
 */
#if defined(KPL_TRACES) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS) && \
	defined(CONFIG_HAVE_STATIC_CALL_INLINE) && !defined(CONFIG_UNWINDER_FRAME_POINTER) && \
	(defined(KPL_HAVE_FTRACE_DIRECT_OPS) || defined(KPL_HAVE_FTRACE_DIRECT_MULTI))
#define KPL_DIRECT_CALLS

/*
 * Functions that direct calls are at.  Before 6.8, ftrace_add_rec_direct() makes
 * a new table for each one beyond 8,192, and frees only the last of those that
 * one registration replaces: 32 KiB are lost for each.  Some are left to others.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define KPL_DIRECT_MAX	8000
#else
#define KPL_DIRECT_MAX	UINT_MAX
#endif

#ifdef KPL_HAVE_FTRACE_DIRECT_OPS
#define KPL_REGISTER_DIRECT register_ftrace_direct
#else
#define KPL_REGISTER_DIRECT register_ftrace_direct_multi
#endif

static inline int kpl_direct_on(struct ftrace_ops *ops, unsigned long stub)
{
	return KPL_REGISTER_DIRECT(ops, stub);
}

/* Afterwards nobody is on the way from a site to the stub, nor in the stub before it calls the function. */
static inline int kpl_direct_off(struct ftrace_ops *ops, unsigned long stub)
{
#ifdef KPL_HAVE_FTRACE_DIRECT_OPS
	return unregister_ftrace_direct(ops, stub, true);
#else
	int err = unregister_ftrace_direct_multi(ops, stub);

	if (!err)
		ftrace_free_filter(ops);
	return err;
#endif
}

/* The registers that a stub's frame has for an entry handler, and for a return handler. */
#define KPL_CALL_REGS \
	(KPL_TRACE_REG(di) | KPL_TRACE_REG(si) | KPL_TRACE_REG(dx) | KPL_TRACE_REG(cx) | \
	 KPL_TRACE_REG(r8) | KPL_TRACE_REG(r9))
#define KPL_RETURN_REGS	(KPL_TRACE_REG(ax) | KPL_TRACE_REG(dx))
/* Those that are put there if a handler reads them. */
#define KPL_FRAME_REGS	(KPL_TRACE_REG(bp) | KPL_TRACE_REG(sp) | KPL_TRACE_REG(ip))
#endif

/* Of a registered kprobe. */
static inline bool kpl_is_function_entry(const struct kprobe *kp)
{
#ifdef KPROBE_FLAG_ON_FUNC_ENTRY
	return kp->flags & KPROBE_FLAG_ON_FUNC_ENTRY;
#else
	return false;
#endif
}

/* Probes in programs: by the functions whose form is known here. */
#if defined(CONFIG_UPROBES) && (defined(KPL_HAVE_UPROBE_HANDLE) || defined(KPL_HAVE_UPROBE_INODE))
#define KPL_UPROBES

/* Bytes that a function of a process takes off the stack when it returns: where to. */
static inline unsigned int kpl_popped(struct pt_regs *regs)
{
#ifdef CONFIG_X86
	return user_64bit_mode(regs) ? 8 : 4;
#else
	return 0;
#endif
}
#endif

/* An instance's return probe goes: where there is no rethook, it has none from then on. */
static __always_inline bool kpl_rp_is_gone(const struct kretprobe *rp)
{
	return !IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK) && unlikely(!rp);
}

/* The innermost return instance of this task: it changes when one is hooked. */
static __always_inline const void *kpl_top_return(void)
{
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	return current->rethooks.first;
#else
	return current->kretprobe_instances.first;
#endif
}

/*
 * Where the function that was just entered will return to.  On x86, another
 * return probe of the same call may have put its trampoline on the stack: its
 * instance, of the same frame, knows the way.
 */
static __always_inline unsigned long kpl_return_address(struct pt_regs *regs)
{
#if defined(CONFIG_X86)
	unsigned long addr = *(unsigned long *)kernel_stack_pointer(regs);
#ifdef CONFIG_KRETPROBE_ON_RETHOOK
	const struct llist_node *at = current->rethooks.first;

	for (; unlikely(at); at = at->next) {
		const struct rethook_node *node = llist_entry(at, struct rethook_node, llist);

		if (node->frame != kernel_stack_pointer(regs))
			break;
		addr = node->ret_addr;
	}
#endif
	return addr;
#elif defined(CONFIG_ARM64)
	return procedure_link_pointer(regs);
#else
#error "where does this architecture keep the return address?"
#endif
}

#endif
