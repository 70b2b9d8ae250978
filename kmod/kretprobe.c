// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Return probes, by the kernel's kretprobes.  Process context.
 *
 * The kernel owns the instances (our data is their tail).  Unregistering
 * disconnects those of functions that still sleep: when they return, the
 * kernel frees the instance and calls nothing of ours, so the module may be
 * gone by then.
 */
#include <linux/build_bug.h>

#include "call.h"
#include "common.h"
#include "kprobe.h"
#include "place.h"
#include "kretprobe.h"
#include "stats.h"

static_assert(KPL_MAX_DATA <= KRETPROBE_MAX_DATA_SIZE);
static_assert(offsetof(struct kretprobe_instance, data) % 8 == 0);

static u32 kpl_data_size(const struct kpl_prog *prog)
{
	return prog ? prog->data_size : 0;
}

static int kpl_kretprobe_add_one(struct kpl_probe *pr)
{
	struct kretprobe *rp = &pr->rp;
	int err = kpl_check_place(pr->origin.addr, true);

	if (err)
		return err;
	rp->kp.addr = (kprobe_opcode_t *)pr->origin.addr;
	rp->kp.flags = KPROBE_FLAG_DISABLED;
	rp->maxactive = pr->maxactive;
	rp->data_size = max(kpl_data_size(pr->handler[KPL_SIDE_FIRST].prog),
			    kpl_data_size(pr->handler[KPL_SIDE_SECOND].prog));
	kpl_hit_handlers(pr);
	err = register_kretprobe(rp);
	if (err)
		return err;
	/* Not armed yet: nothing runs while our handler takes the place of the kernel's. */
	kpl_hook_return_set(rp->kp.pre_handler);
	if (pr->when.mask)
		pr->hook = kpl_hit_call_when;
	else
		pr->hook = rp->entry_handler ? kpl_hit_call_entry : kpl_hit_call;
	rp->kp.pre_handler = pr->hook;
	return 0;
}

static void kpl_kretprobe_add(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++) {
		prs[i]->error = kpl_interrupted(prs[i]) ? -EINTR : kpl_kretprobe_add_one(prs[i]);
		prs[i]->added = !prs[i]->error;
		kpl_step(prs[i]);
		cond_resched();
	}
}

static int kpl_returned_nothing(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

/* One grace period for all.  A probe begins with its kretprobe: no other list is needed. */
static void kpl_kretprobe_remove(struct kpl_probe **prs, u32 nr)
{
	u32 i;

	unregister_kretprobes((struct kretprobe **)prs, kpl_kprobes_off(prs, nr));
	/* As unregistering does with the others: calls under way return to nothing of ours. */
	for (i = 0; i < nr; i++)
		if (prs[i]->stuck)
			WRITE_ONCE(prs[i]->rp.handler, kpl_returned_nothing);
}

void kpl_kretprobe_stats(struct kpl_probe *pr, struct kpl_probe_stats *out)
{
	struct kpl_counts *entry = &out->entry;
	u64 hooked;

	kpl_call_stats(pr, out);
	kpl_counts_miss(entry, kpl_kprobe_missed(pr));
	hooked = pr->handler[KPL_SIDE_SECOND].run ? entry->handled - out->declined : 0;
	out->outstanding = hooked > out->ret.hits ? hooked - out->ret.hits : 0;
}

static u64 kpl_instances_memory(u32 maxactive, u32 data_size)
{
	u32 nr = maxactive ?: max(10u, 2 * num_possible_cpus());
	u64 size = sizeof(struct kretprobe_instance) + data_size;

#ifdef KPL_HAVE_RETHOOK_OBJPOOL
	/* In pages for each CPU: its share, and room for the addresses of all. */
	return num_possible_cpus() *
	       PAGE_ALIGN(sizeof(struct objpool_slot) + roundup_pow_of_two(nr) * sizeof(void *) +
			  DIV_ROUND_UP(nr, num_possible_cpus()) * size);
#else
	return nr * size;
#endif
}

static u64 kpl_kretprobe_memory(const struct kpl_attach *a, const struct kpl_prog **progs)
{
	return kpl_instances_memory(a->maxactive, max(kpl_data_size(progs[KPL_SIDE_FIRST]),
						      kpl_data_size(progs[KPL_SIDE_SECOND])));
}

int kpl_kretprobe_take(struct kpl_probe *pr)
{
	const struct kpl_handler *handler = pr->handler;
	u64 memory = kpl_instances_memory(pr->maxactive,
					  max(kpl_data_size(handler[KPL_SIDE_FIRST].prog),
					      kpl_data_size(handler[KPL_SIDE_SECOND].prog)));
	int err = kpl_charge(pr->origin.session, memory);

	if (err)
		return err;
	pr->charged += memory;
	pr->ops = &kpl_kretprobe_ops;
	return 0;
}

const struct kpl_probe_ops kpl_kretprobe_ops = {
	.kind = KPL_PROBE_KRETPROBE,
	.changes = true,
	.maxactive = KPL_MAX_ACTIVE,
	.memory = kpl_kretprobe_memory,
	.kinds = { KPL_PROG_ENTRY, KPL_PROG_RET, KPL_PROG_KINDS },
	.run[KPL_OP_ADD] = kpl_kretprobe_add,
	.run[KPL_OP_ARM] = kpl_kprobe_arm,
	.run[KPL_OP_DISARM] = kpl_kprobe_disarm,
	.run[KPL_OP_REMOVE] = kpl_kretprobe_remove,
	.state = kpl_kprobe_state,
	.stats = kpl_kretprobe_stats,
};
