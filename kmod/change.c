// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Changing what runs.  The verifier knows which registers a program may write
 * and where it may go to; what it writes are the registers that ftrace or
 * kprobes load when the hit is over.
 */
#include <linux/capability.h>
#include <linux/linkage.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/rcupdate_wait.h>
#include <linux/security.h>

#include "core/args.h"
#include "change.h"
#include "compat.h"
#include "guard.h"

/* ------------------------------------------------------------------- rights */

static bool kpl_changes = true;
static bool kpl_changed;	/* a session was ever opened for it */

/* Off for good: only another load of the module turns it on. */
static int kpl_changes_set(const char *text, const struct kernel_param *kp)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (err)
		return err;
	if (on && !kpl_changes)
		return -EPERM;
	WRITE_ONCE(kpl_changes, on);
	return 0;
}

static const struct kernel_param_ops kpl_changes_ops = {
	.set = kpl_changes_set,
	.get = param_get_bool,
};
module_param_cb(changes, &kpl_changes_ops, &kpl_changes, 0644);
MODULE_PARM_DESC(changes, "Whether sessions may change what runs; once off, it stays off");

/* Lockdown's integrity is what root may not write the running kernel under. */
bool kpl_may_write_kernel(void)
{
	return capable(CAP_SYS_ADMIN) && !security_locked_down(LOCKDOWN_DBG_WRITE_KERNEL);
}

static int kpl_may_change(void)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	return READ_ONCE(kpl_changes) && kpl_may_write_kernel() ? 0 : -EACCES;
}

u64 kpl_change_feature(void)
{
	return IS_ENABLED(CONFIG_X86_64) ? KPL_FEATURE_CHANGE : 0;
}

int kpl_rights(struct kpl_session *s, struct kpl_rights *arg)
{
	int err = kpl_check_rights(arg);

	if (err)
		return err;
	if (!kpl_change_feature())
		return -EOPNOTSUPP;
	err = kpl_may_change();
	if (err)
		return err;
	s->rights |= arg->rights;
	WRITE_ONCE(kpl_changed, true);
	return 0;
}

u32 kpl_rights_now(const struct kpl_session *s)
{
	return s->rights && !kpl_may_change() ? s->rights : 0;
}

void kpl_change_exit(void)
{
	if (kpl_changed)
		synchronize_rcu_tasks();
}

/* ------------------------------------------------------------------ helpers */

#ifdef CONFIG_X86_64
/* Where a function that is left out goes on: back to its caller. */
void kpl_return_now(void);

asm(".pushsection .text\n"
    "	.type kpl_return_now, @function\n"
    "	.globl kpl_return_now\n"
    "kpl_return_now:\n"
    "	" ASM_ENDBR
    "	" ASM_RET
    "	.size kpl_return_now, . - kpl_return_now\n"
    ".popsection\n");

static void kpl_move(struct kpl_hit *hit, unsigned long ip)
{
	struct kpl_ctx *ctx = kpl_ctx_of((unsigned long)hit);

	instruction_pointer_set((struct pt_regs *)hit->regs, ip);
	if (!ctx->moved)
		kpl_count(ctx->origin, KPL_SIDE_FIRST, KPL_C_MOVED);
	ctx->moved = 1;
}

u64 kpl_h_override(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	struct kpl_hit *hit = (struct kpl_hit *)r1;
	u32 returns = kpl_ctx_of(r1)->origin->returns;

	if (returns && !kpl_returns_fit(returns, r2)) {
		kpl_fail(r1, KPL_STOP_VALUE, r2);
		return 0;
	}
	regs_set_return_value((struct pt_regs *)hit->regs, r2);
	kpl_move(hit, (unsigned long)kpl_return_now);
	return 0;
}

u64 kpl_h_go_to(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	kpl_move((struct kpl_hit *)r1, (u32)r2 | r3 << 32);
	return 0;
}
#else
/* No session has the right to call them. */
u64 kpl_h_override(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return 0;
}

u64 kpl_h_go_to(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	return 0;
}
#endif
