// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Probes at tracepoints.  Process context, but for the hits.
 *
 * A tracepoint calls what is registered with it by its own prototype.  Who
 * reads one argument more than it passes may read beyond the end of a stack.
 * How many there are the kernel itself says, in the entries that it keeps for
 * BPF's raw tracepoints: user space names one by its address, it must be one,
 * and a program has no more values than the entry has arguments.
 *
 * A tracepoint of a module does not keep the module: what stands there is
 * taken away when it goes.  Modules with tracepoints are known from the
 * kernel's calls alone; the lock makes these and what sessions do one after
 * the other.
 */
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "common.h"
#include "handle.h"
#include "session.h"
#include "tracepoint.h"

#ifdef CONFIG_BPF_EVENTS

/* Nothing under it waits for user space. */
static DEFINE_MUTEX(kpl_tracepoints_lock);
static LIST_HEAD(kpl_tracepoints);		/* of probes that are added */
static LIST_HEAD(kpl_tracepoint_modules);

/* --------------------------------------------- hits: any context, preemption off */

/* A program that looks at nothing: its arguments stay where they are. */
static void kpl_hit_tracepoint_plain(void *data)
{
	const struct kpl_probe *pr = data;
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (!kpl_over(pr) && kpl_begin(ctx, pr, KPL_SIDE_FIRST))
		kpl_run_begun(pr, ctx, KPL_SIDE_FIRST);
}

static void kpl_hit_tracepoint_adds(void *data)
{
	const struct kpl_probe *pr = data;
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr))
		return;
	if (unlikely(ctx->origin))
		kpl_count(&pr->origin, KPL_SIDE_FIRST, KPL_C_MISSED);
	else
		kpl_add(pr, ctx, KPL_SIDE_FIRST);
}

static __always_inline void kpl_hit_tracepoint(const struct kpl_probe *pr, const u64 *values)
{
	struct kpl_ctx *ctx = kpl_ctx_here();

	if (kpl_over(pr) || (pr->when.mask && kpl_skipped(pr)))
		return;
	if (!kpl_begin(ctx, pr, KPL_SIDE_FIRST))
		return;
	ctx->hit.regs = 0;
	ctx->hit.data = (unsigned long)values;
	kpl_run_begun(pr, ctx, KPL_SIDE_FIRST);
}

/*
 * Five arguments at most: they, and `data`, are in registers, whether the
 * tracepoint has passed them or not.  Of those that lie on the stack, a
 * function for each number reads what there is.
 */
#define KPL_PARAMS_5	u64 a1, u64 a2, u64 a3, u64 a4, u64 a5
#define KPL_PARAMS_6	KPL_PARAMS_5, u64 a6
#define KPL_PARAMS_7	KPL_PARAMS_6, u64 a7
#define KPL_PARAMS_8	KPL_PARAMS_7, u64 a8
#define KPL_PARAMS_9	KPL_PARAMS_8, u64 a9
#define KPL_PARAMS_10	KPL_PARAMS_9, u64 a10
#define KPL_PARAMS_11	KPL_PARAMS_10, u64 a11
#define KPL_PARAMS_12	KPL_PARAMS_11, u64 a12

#define KPL_VALUES_5	a1, a2, a3, a4, a5
#define KPL_VALUES_6	KPL_VALUES_5, a6
#define KPL_VALUES_7	KPL_VALUES_6, a7
#define KPL_VALUES_8	KPL_VALUES_7, a8
#define KPL_VALUES_9	KPL_VALUES_8, a9
#define KPL_VALUES_10	KPL_VALUES_9, a10
#define KPL_VALUES_11	KPL_VALUES_10, a11
#define KPL_VALUES_12	KPL_VALUES_11, a12

/* With `from`, a program may walk the stack from there. */
#define KPL_TRACEPOINT_HIT(nr)							\
	static void kpl_hit_tracepoint_##nr(void *data, KPL_PARAMS_##nr)		\
	{									\
		u64 values[] = { KPL_VALUES_##nr };				\
										\
		kpl_hit_tracepoint(data, values);				\
	}									\
										\
	static void kpl_hit_tracepoint_from_##nr(void *data, KPL_PARAMS_##nr)	\
	{									\
		struct {							\
			const void *frame;					\
			u64 of[nr];						\
		} values = { __builtin_frame_address(0), { KPL_VALUES_##nr } };	\
										\
		BUILD_BUG_ON(offsetof(typeof(values), of) !=			\
			     offsetof(struct kpl_values, of));			\
		kpl_hit_tracepoint(data, values.of);				\
	}

KPL_TRACEPOINT_HIT(5)
KPL_TRACEPOINT_HIT(6)
KPL_TRACEPOINT_HIT(7)
KPL_TRACEPOINT_HIT(8)
KPL_TRACEPOINT_HIT(9)
KPL_TRACEPOINT_HIT(10)
KPL_TRACEPOINT_HIT(11)
KPL_TRACEPOINT_HIT(12)

#define KPL_TRACEPOINT_HITS(nr)	{ kpl_hit_tracepoint_##nr, kpl_hit_tracepoint_from_##nr }

/* By the number of arguments; NULL: no tracepoint has so many. */
static void *kpl_tracepoint_hit(const struct kpl_probe *pr, u32 nr)
{
	static void *const hits[][2] = {
		[1 ... 5] = KPL_TRACEPOINT_HITS(5),
		[6] = KPL_TRACEPOINT_HITS(6),
		[7] = KPL_TRACEPOINT_HITS(7),
		[8] = KPL_TRACEPOINT_HITS(8),
		[9] = KPL_TRACEPOINT_HITS(9),
		[10] = KPL_TRACEPOINT_HITS(10),
		[11] = KPL_TRACEPOINT_HITS(11),
		[12] = KPL_TRACEPOINT_HITS(12),
	};
	const struct kpl_handler *handler = &pr->handler[KPL_SIDE_FIRST];
	bool walks = handler->looks == KPL_LOOKS_AT_ALL || pr->handler[KPL_HANDLER_FAULT].run;
	void *hit = nr < ARRAY_SIZE(hits) ? hits[nr][walks] : NULL;

	if (!hit || pr->when.mask || handler->looks != KPL_LOOKS_NOWHERE)
		return hit;
	return handler->adds.value ? kpl_hit_tracepoint_adds : kpl_hit_tracepoint_plain;
}

/* ------------------------------------------------------------------- modules */

struct kpl_tracepoint_module {
	struct list_head list;
	const struct module *mod;
};

static bool kpl_is_entry_of(const struct module *mod, u64 addr)
{
	u64 offset = addr - (unsigned long)mod->bpf_raw_events;

	return offset < (u64)mod->num_bpf_raw_events * sizeof(struct bpf_raw_event_map) &&
	       offset % sizeof(struct bpf_raw_event_map) == 0;
}

/* Without memory for it, its tracepoints are not known. */
static void kpl_tracepoint_module_comes(const struct module *mod)
{
	struct kpl_tracepoint_module *m = kmalloc(sizeof(*m), GFP_KERNEL);

	if (!m)
		return;
	m->mod = mod;
	list_add(&m->list, &kpl_tracepoint_modules);
}

static void kpl_tracepoint_switch(struct kpl_probe *pr, bool armed);

/* Before its memory goes; the kernel itself waits for those who are in a handler. */
static void kpl_tracepoint_module_goes(const struct module *mod)
{
	struct kpl_tracepoint_module *m, *next;
	struct kpl_probe *pr;

	list_for_each_entry(pr, &kpl_tracepoints, in_list) {
		if (!kpl_is_entry_of(mod, pr->origin.addr))
			continue;
		kpl_tracepoint_switch(pr, false);
		pr->gone = true;
	}
	list_for_each_entry_safe(m, next, &kpl_tracepoint_modules, list) {
		if (m->mod != mod)
			continue;
		list_del(&m->list);
		kfree(m);
	}
}

/*
 * Registering this says COMING of all modules that are there, unregistering it
 * GOING of all of them.
 */
static int kpl_tracepoint_module(struct notifier_block *nb, unsigned long state, void *data)
{
	const struct tp_module *tp_mod = data;

	mutex_lock(&kpl_tracepoints_lock);
	if (state == MODULE_STATE_COMING)
		kpl_tracepoint_module_comes(tp_mod->mod);
	else if (state == MODULE_STATE_GOING)
		kpl_tracepoint_module_goes(tp_mod->mod);
	mutex_unlock(&kpl_tracepoints_lock);
	return NOTIFY_OK;
}

static struct notifier_block kpl_tracepoint_modules_nb = {
	.notifier_call = kpl_tracepoint_module,
};

int kpl_tracepoint_init(void)
{
	return register_tracepoint_module_notifier(&kpl_tracepoint_modules_nb);
}

void kpl_tracepoint_exit(void)
{
	unregister_tracepoint_module_notifier(&kpl_tracepoint_modules_nb);
}

/* ---------------------------------------------------------------- operations */

/* Of the kernel itself: what its table of symbols calls so, at its beginning. */
static bool kpl_is_entry_of_kernel(u64 addr)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol(name, addr);
	return strstarts(name, "__bpf_trace_tp_map_") && strstr(name, "+0x0/") &&
	       !strchr(name, '[');
}

static bool kpl_is_entry(u64 addr)
{
	struct kpl_tracepoint_module *m;

	list_for_each_entry(m, &kpl_tracepoint_modules, list)
		if (kpl_is_entry_of(m->mod, addr))
			return true;
	return kpl_is_entry_of_kernel(addr);
}

/* It calls its module when it is switched on and off. */
static bool kpl_tracepoint_calls(const struct tracepoint *tp)
{
#ifdef KPL_HAVE_TRACEPOINT_REGFUNC
	return tp->regfunc || tp->unregfunc;
#else
	return tp->ext;
#endif
}

static int kpl_tracepoint_add_one(struct kpl_probe *pr)
{
	const struct bpf_raw_event_map *entry = (void *)(unsigned long)pr->origin.addr;
	const struct kpl_prog *prog = pr->handler[KPL_SIDE_FIRST].prog;

	if (!kpl_is_entry(pr->origin.addr))
		return -ENOENT;
	pr->hit = kpl_tracepoint_hit(pr, entry->num_args);
	/* A module that goes has ended before anybody is told: it would be called after that. */
	if (!pr->hit ||
	    (!kpl_is_entry_of_kernel(pr->origin.addr) && kpl_tracepoint_calls(entry->tp)))
		return -EOPNOTSUPP;
	if (prog->data_size > 8 * entry->num_args)
		return -EINVAL;
	list_add(&pr->in_list, &kpl_tracepoints);
	return 0;
}

static void kpl_tracepoint_add(struct kpl_probe **prs, u32 nr)
{
	mutex_lock(&kpl_tracepoints_lock);
	kpl_add_each(prs, nr, kpl_tracepoint_add_one);
	mutex_unlock(&kpl_tracepoints_lock);
}

static struct tracepoint *kpl_tracepoint_of(const struct kpl_probe *pr)
{
	const struct bpf_raw_event_map *entry = (void *)(unsigned long)pr->origin.addr;

	return entry->tp;
}

static int kpl_tracepoint_on(struct kpl_probe *pr)
{
	int err;

	if (pr->gone)
		return -ENOENT;
	if (pr->armed)
		return 0;
	err = tracepoint_probe_register(kpl_tracepoint_of(pr), pr->hit, pr);
	pr->armed = !err;
	return err;
}

/* `armed` false: can't fail. */
static void kpl_tracepoint_switch(struct kpl_probe *pr, bool armed)
{
	if (armed) {
		pr->error = kpl_tracepoint_on(pr);
		return;
	}
	if (pr->armed)
		tracepoint_probe_unregister(kpl_tracepoint_of(pr), pr->hit, pr);
	pr->armed = false;
	pr->error = 0;
}

/* Each takes the kernel a grace period or two: the lock is not held over all of them. */
static void kpl_tracepoint_arm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		if (kpl_interrupted(prs[i])) {
			prs[i]->error = -EINTR;
			continue;
		}
		mutex_lock(&kpl_tracepoints_lock);
		kpl_tracepoint_switch(prs[i], true);
		mutex_unlock(&kpl_tracepoints_lock);
		kpl_step(prs[i]);
	}
}

static void kpl_tracepoint_disarm(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		mutex_lock(&kpl_tracepoints_lock);
		kpl_tracepoint_switch(prs[i], false);
		mutex_unlock(&kpl_tracepoints_lock);
	}
}

static void kpl_tracepoint_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	kpl_tracepoint_disarm(prs, nr);
	mutex_lock(&kpl_tracepoints_lock);
	for (i = 0; i < nr; i++) {
		list_del(&prs[i]->in_list);
		prs[i]->added = false;
	}
	mutex_unlock(&kpl_tracepoints_lock);
	tracepoint_synchronize_unregister();
}

const struct kpl_probe_ops kpl_tracepoint_ops = {
	.kind = KPL_PROBE_TRACEPOINT,
	.kinds = { KPL_PROG_TRACEPOINT, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_tracepoint_add,
	.run[KPL_OP_ARM] = kpl_tracepoint_arm,
	.run[KPL_OP_DISARM] = kpl_tracepoint_disarm,
	.run[KPL_OP_REMOVE] = kpl_tracepoint_remove,
	.state = kpl_plain_state,
	.stats = kpl_hit_stats,
};

#else

/* How many arguments a tracepoint passes can't be known. */
int kpl_tracepoint_init(void)
{
	return 0;
}

void kpl_tracepoint_exit(void)
{
}

const struct kpl_probe_ops kpl_tracepoint_ops = {
	.kind = KPL_PROBE_TRACEPOINT,
	.kinds = { KPL_PROG_TRACEPOINT, KPL_PROG_KINDS, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_add_none,
};

#endif
