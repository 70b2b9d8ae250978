// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Dry runs.  Process context; the program runs under the guard. */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/args.h"
#include "dry.h"
#include "guard.h"
#include "prog.h"
#include "session.h"
#include "stop.h"

/* Of all dry runs: counted like those of a hit, and read by nobody. */
static DEFINE_PER_CPU(struct kpl_outcomes, kpl_dry_outcomes);
static DEFINE_PER_CPU(struct kpl_origin, kpl_dry_origin);

/* Around the data of a run: what no program may change. */
#define KPL_RUN_MARGIN	512
#define KPL_RUN_MARK	0xa5

struct kpl_run_input {
	struct pt_regs regs;
	struct kpl_hit hit;
	u8 memory[KPL_RUN_MARGIN + KPL_MAX_DATA + KPL_RUN_MARGIN] __aligned(8);
};

static u8 *kpl_run_data(struct kpl_run_input *in)
{
	return in->memory + KPL_RUN_MARGIN;
}

static int kpl_run_copy(struct kpl_run_input *in, const struct kpl_prog_run *arg)
{
	if (copy_from_user(&in->regs, u64_to_user_ptr(arg->regs), arg->regs_size) ||
	    copy_from_user(kpl_run_data(in), u64_to_user_ptr(arg->data), arg->data_size))
		return -EFAULT;
	if (arg->hit && copy_from_user(&in->hit, u64_to_user_ptr(arg->hit), sizeof(in->hit)))
		return -EFAULT;
	return 0;
}

/* From the end of the program's data to the end of the memory. */
static size_t kpl_run_beyond(const struct kpl_prog *prog)
{
	return KPL_MAX_DATA - prog->data_size + KPL_RUN_MARGIN;
}

static void kpl_run_mark(struct kpl_run_input *in, const struct kpl_prog *prog)
{
	memset(in->memory, KPL_RUN_MARK, KPL_RUN_MARGIN);
	memset(kpl_run_data(in) + prog->data_size, KPL_RUN_MARK, kpl_run_beyond(prog));
}

static bool kpl_run_strayed(struct kpl_run_input *in, const struct kpl_prog *prog)
{
	return memchr_inv(in->memory, KPL_RUN_MARK, KPL_RUN_MARGIN) ||
	       memchr_inv(kpl_run_data(in) + prog->data_size, KPL_RUN_MARK, kpl_run_beyond(prog));
}

static void kpl_run_once(struct kpl_session *s, const struct kpl_prog *prog,
			 struct kpl_run_input *in, struct kpl_prog_run *arg)
{
	struct kpl_origin *origin = get_cpu_ptr(&kpl_dry_origin);
	struct kpl_ctx *ctx;

	*origin = (struct kpl_origin) {
		.session = s,
		.cpu = s->cpu,
		.outcomes = &kpl_dry_outcomes,
		.func = in->hit.func,
		.addr = in->hit.addr,
		.dry = true,
	};
	ctx = kpl_guard_get(origin);
	kpl_look(ctx, origin);
	ctx->hit.regs = (unsigned long)&in->regs;
	ctx->hit.data = (unsigned long)kpl_run_data(in);
	ctx->hit.ret = in->hit.ret;
	ctx->hit.ret_addr = in->hit.ret_addr;
	ctx->hit.bad_addr = in->hit.bad_addr;
	ctx->hit.status = in->hit.status;
	arg->result = prog->run(&ctx->hit, prog->insns);
	arg->bad_addr = ctx->hit.bad_addr;
	if (arg->result != KPL_RET_DONE)
		kpl_stop(ctx, s, prog->sites, arg->result);
	kpl_guard_put(ctx);
	put_cpu_ptr(&kpl_dry_origin);
}

static int kpl_run_repeated(struct kpl_session *s, const struct kpl_prog *prog,
			    struct kpl_run_input *in, struct kpl_prog_run *arg)
{
	u32 left = arg->repeat ?: 1;
	u64 began;

	arg->duration = 0;
	for (;;) {
		began = ktime_get_ns();
		kpl_run_once(s, prog, in, arg);
		arg->duration += ktime_get_ns() - began;
		if (!--left)
			return 0;
		if (kpl_session_interrupted(s))
			return -EINTR;
		cond_resched_tasks_rcu_qs();	/* who takes away probes waits for that */
	}
}

static int kpl_run_all(struct kpl_session *s, const struct kpl_prog *prog,
		       struct kpl_run_input *in, struct kpl_prog_run *arg)
{
	int err;

	kpl_run_mark(in, prog);
	err = kpl_run_repeated(s, prog, in, arg);
	return kpl_run_strayed(in, prog) ? -EUCLEAN : err;
}

static int kpl_run_locked(struct kpl_session *s, struct kpl_run_input *in, struct kpl_prog_run *arg)
{
	int err = kpl_session_lock(s);
	const struct kpl_prog *prog;

	if (err)
		return err;
	prog = kpl_prog_get(s, arg->id);
	if (prog && arg->data_size <= prog->data_size)
		err = kpl_run_all(s, prog, in, arg);
	else
		err = -EINVAL;
	kpl_session_unlock(s);
	return err;
}

int kpl_prog_run(struct kpl_session *s, struct kpl_prog_run *arg)
{
	struct kpl_run_input *in;
	int err = kpl_check_prog_run(arg, sizeof(in->regs));

	if (err)
		return err;
	in = kvzalloc(sizeof(*in), KPL_GFP);
	if (!in)
		return -ENOMEM;
	err = kpl_run_copy(in, arg);
	if (!err)
		err = kpl_run_locked(s, in, arg);
	if (!err && copy_to_user(u64_to_user_ptr(arg->data), kpl_run_data(in), arg->data_size))
		err = -EFAULT;
	kvfree(in);
	return err;
}
