/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Places in the kernel's code: where probes may stand, what may be gone to.  Process context. */
#ifndef KPL_PLACE_H
#define KPL_PLACE_H

#include <linux/module.h>
#include <linux/types.h>

void kpl_place_init(void);

/* The address of what the kernel does not export; 0, with a line in the log: there is no such symbol. */
unsigned long kpl_symbol(const char *name);
/* Whether the compiler moved this code away from its function. */
bool kpl_is_cold_at(u64 addr);

/* 0, or -EINVAL: ftrace calls from none, or not all, of these sites or functions' entries. */
int kpl_sites_known(unsigned long *sites, u32 nr);

struct kpl_span {
	u64 begin, size;	/* bytes */
};

/* The function that has this instruction, as kallsyms sees it; false: none has. */
bool kpl_span_of(u64 addr, struct kpl_span *span);

/* For a breakpoint, or what may become one; `returns`: also where the function returns. */
int kpl_check_place(u64 addr, bool returns);
/*
 * The rest, for a kprobe that is registered and was never armed.  -ENOENT: its code
 * goes; the kernel may have looked before it told its kprobes of that.
 */
int kpl_check_registered(const struct kprobe *kp);
/* The kernel's jump in the place of the breakpoint: the flag of an optimized probe is its own. */
bool kpl_shows_jump(const struct kprobe *kp);
/* Whether what stands for all kprobes of its place is enabled, or is not; false: not known. */
bool kpl_place_is(const struct kprobe *kp, bool enabled);
/*
 * Before one is unregistered that was never armed.  An optimized one that goes has its jump for
 * some time yet; who registers there meanwhile takes over what stands for it, enabled, and would
 * leave that behind for good, armed: disabling it has the kernel take it away again.  True: so
 * it was.
 */
bool kpl_kprobe_pass_on(struct kprobe *kp);
/* Both, and waits for what its jump may have led to. */
void kpl_kprobe_unregister(struct kprobe *kp);
/*
 * A module's code that ftrace does not call from (all of it, where ftrace does not
 * tell) may be a label within a function that is written in assembler, where the
 * stack holds anything.  To the kernel, a function begins at each symbol.  Ours, of
 * which the bench's may be probed, are all in C.
 */
bool kpl_may_be_label(u64 addr);
/* For a call by ftrace, which does without most of those rules. */
int kpl_check_site(u64 addr);

/*
 * A hit runs the handlers of all probes at its place, often with interrupts off:
 * what they may take together is bounded.  -E2BIG: it would be more.
 */
int kpl_crowd_join(u64 addr, u32 cost);
void kpl_crowd_leave(u64 addr, u32 cost);

/* 0: an instruction begins there, and a kprobe might stand there. */
int kpl_check_target(u64 addr);

/* Whether code at `target` is there as long as that at `addr` is. */
bool kpl_stays_with(u64 target, u64 addr);

/*
 * Whether the function there may be left out.  `returns`: out, what it is
 * marked for, KPL_RETURNS_*.
 */
int kpl_check_override(u64 addr, u32 *returns);

/* Whether what is at `addr` goes: with the module, or with the memory of its start-up alone. */
static inline bool kpl_goes_with(const struct module *mod, u64 addr, bool init_alone)
{
	return init_alone ? within_module_init(addr, mod) : within_module(addr, mod);
}

#endif
