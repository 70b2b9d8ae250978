// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Programs: copied, verified, rewritten, bound to the session's maps.  Where
 * there is no native code (native.c), our interpreter runs, never the kernel's.
 */
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/context_tracking_state.h>
#include <linux/filter.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/args.h"
#include "change.h"
#include "compat.h"
#include "guard.h"
#include "helpers.h"
#include "map.h"
#include "native.h"
#include "place.h"
#include "prog.h"
#include "ring.h"
#include "session.h"
#include "stop.h"

static u64 kpl_run_interpreted(const void *hit, const struct bpf_insn *insns)
{
	return kpl_interpret(insns, (struct kpl_hit *)hit, kpl_helpers);
}

/*
 * Where CPUs may be without a tick (nohz_full), they ask RCU for one at a fault, under a
 * lock that a probed function's callers may hold with interrupts off, unless they are in
 * an NMI (rcu_irq_enter_check_tick).
 */
static u64 kpl_run_tickless(kpl_run_fn run, const void *hit, const struct bpf_insn *insns)
{
	u32 as_nmi = irqs_disabled() ? NMI_OFFSET : 0;
	u64 result;

	__preempt_count_add(as_nmi);
	barrier();
	result = run(hit, insns);
	barrier();
	__preempt_count_sub(as_nmi);
	return result;
}

static u64 kpl_run_native_tickless(const void *hit, const struct bpf_insn *insns)
{
	const struct bpf_prog *fp = container_of(insns, struct bpf_prog, insnsi[0]);

	return kpl_run_tickless((kpl_run_fn)(void *)fp->bpf_func, hit, insns);
}

static u64 kpl_run_interpreted_tickless(const void *hit, const struct bpf_insn *insns)
{
	return kpl_run_tickless(kpl_run_interpreted, hit, insns);
}

/* ------------------------------------------------------------------ loading */

/* One load under way. */
struct kpl_loading {
	struct kpl_prog_load *arg;
	struct kpl_verify v;
	const struct bpf_insn *insns;
	const struct kpl_label *labels;
	struct kpl_map_desc *maps;
	u64 *map_values;
	DECLARE_BITMAP(uses, KPL_MAX_MAPS);	/* maps that the code names */
	struct bpf_insn *code;		/* rewritten */
	u32 nr_code;
	u32 *out_pc;			/* where each instruction went, if that is asked for */
};

static void kpl_loading_free(struct kpl_session *s, struct kpl_loading *l)
{
	kpl_copy_free(s, l->insns, l->arg->nr_insns, sizeof(*l->insns));
	kpl_copy_free(s, l->labels, l->arg->nr_labels, sizeof(*l->labels));
	kvfree(l->maps);
	kvfree(l->map_values);
	kvfree(l->v.ws);
	kvfree(l->code);
	kvfree(l->out_pc);
}

static int kpl_loading_copy(struct kpl_session *s, struct kpl_loading *l)
{
	const struct kpl_prog_load *arg = l->arg;
	const void *copy;

	copy = kpl_copy_in(s, arg->insns, arg->nr_insns, sizeof(*l->insns));
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	l->insns = copy;
	if (!arg->nr_labels)
		return 0;
	copy = kpl_copy_in(s, arg->labels, arg->nr_labels, sizeof(*l->labels));
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	l->labels = copy;
	return 0;
}

/* Of the maps that the code names, each must be there: what was freed has left a gap. */
static int kpl_loading_uses(struct kpl_session *s, struct kpl_loading *l)
{
	u32 pc;

	for (pc = 0; pc < l->arg->nr_insns; pc++) {
		const struct bpf_insn *insn = &l->insns[pc];

		if (insn->code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		pc++;	/* its second slot */
		if (insn->src_reg != BPF_PSEUDO_MAP_FD || (u32)insn->imm >= s->nr_maps)
			continue;	/* a number; or the verifier refuses it */
		if (!kpl_map_get(s, insn->imm))
			return -EINVAL;
		__set_bit(insn->imm, l->uses);
	}
	return 0;
}

/* What the verifier must know of the session's maps, and what code uses for them. */
static int kpl_loading_maps(struct kpl_session *s, struct kpl_loading *l)
{
	u32 id;

	if (!s->nr_maps)
		return 0;
	l->maps = kvcalloc(s->nr_maps, sizeof(*l->maps), KPL_GFP);
	l->map_values = kvcalloc(s->nr_maps, sizeof(*l->map_values), KPL_GFP);
	if (!l->maps || !l->map_values)
		return -ENOMEM;
	for (id = 0; id < s->nr_maps; id++) {
		struct kpl_map *map = kpl_map_get(s, id);

		if (!map)
			continue;
		l->maps[id] = (struct kpl_map_desc) {
			.kind = map->shape.kind,
			.key_size = map->shape.key_size,
			.value_size = map->shape.value_size,
		};
		l->map_values[id] = (unsigned long)map;
	}
	return kpl_loading_uses(s, l);
}

/* The user names each of them: nothing is gone to that is not the beginning of an instruction. */
static int kpl_loading_targets(struct kpl_loading *l)
{
	u32 i;

	for (i = 0; i < l->v.nr_targets; i++) {
		if (!kpl_check_target(l->v.targets[i]))
			continue;
		l->v.reject = KPL_REJECT_TARGET;
		return -EACCES;
	}
	return 0;
}

static bool kpl_is_call(const struct bpf_insn *insn, s32 helper)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->imm == helper;
}

/* Each call stays where it is: only what it calls is chosen, by its map if it has one. */
static void kpl_choose_helpers(struct kpl_session *s, struct kpl_loading *l)
{
	u32 pc, at;

	for (pc = 0; pc < l->arg->nr_insns; pc++) {
		s32 map = kpl_agg_of_call(&l->v, pc, &at);

		if (kpl_is_call(&l->insns[pc], KPL_H_now))
			l->code[at].imm = KPL_H_CLOCK;
		else if (map >= 0 && kpl_is_call(&l->insns[pc], KPL_H_agg_add))
			l->code[at].imm = kpl_agg_helper(&kpl_map_get(s, map)->agg);
	}
}

static bool kpl_is_move(const struct bpf_insn *insn, u32 reg)
{
	return insn->code == (BPF_ALU64 | BPF_MOV | BPF_K) && insn->dst_reg == reg;
}

/* Whether it asks for the kernel's stack, which begins where the registers say. */
static bool kpl_walks(const struct kpl_loading *l)
{
	u32 pc;

	for (pc = 0; pc < l->arg->nr_insns; pc++)
		if (kpl_is_call(&l->insns[pc], KPL_H_kstack))
			return true;
	return false;
}

/*
 * What the compiler makes of `count:add(n)` and nothing else; in other words,
 * it is a program like any other.
 */
static struct kpl_adds kpl_adds_of(struct kpl_session *s, const struct kpl_loading *l)
{
	static const u32 call = 4, end = 7;	/* a map's address has two places */
	const struct bpf_insn *insn = l->insns;
	struct kpl_agg *agg;
	s32 map;
	u32 at;

	if (l->arg->nr_insns != end || insn[0].code != (BPF_LD | BPF_IMM | BPF_DW) ||
	    !kpl_is_move(&insn[2], BPF_REG_3) || !kpl_is_move(&insn[3], BPF_REG_4) ||
	    !kpl_is_move(&insn[5], BPF_REG_0) || insn[5].imm ||
	    insn[6].code != (BPF_JMP | BPF_EXIT))
		return (struct kpl_adds) {};
	map = kpl_agg_of_call(&l->v, call, &at);
	if (map < 0)
		return (struct kpl_adds) {};
	agg = &kpl_map_get(s, map)->agg;
	if (kpl_agg_helper(agg) != KPL_H_ADD_NUMBER)
		return (struct kpl_adds) {};
	return (struct kpl_adds) { &agg->cpu->value, insn[3].imm };
}

static bool kpl_wants_places(const struct kpl_prog_load *arg)
{
	return arg->flags & KPL_PROG_F_PLACES;
}

static int kpl_loading_verify(struct kpl_session *s, struct kpl_loading *l)
{
	struct kpl_prog_load *arg = l->arg;
	u32 max = min_t(u32, KPL_MAX_SLOTS, 4 * arg->nr_insns + 1);
	int err;

	l->v = (struct kpl_verify) {
		.insns = l->insns,
		.labels = l->labels,
		.maps = l->maps,
		.nr_insns = arg->nr_insns,
		.nr_labels = arg->nr_labels,
		.nr_maps = s->nr_maps,
		.kind = arg->kind,
		.data_size = arg->data_size,
		.scratch_size = arg->scratch_size,
		.budget = arg->budget,
		.regs_size = sizeof(struct pt_regs),
		.max_record = kpl_ring_max_record(s),
		.ws = kvzalloc(kpl_verify_ws_size(arg->nr_insns), KPL_GFP),
	};
	l->code = kvmalloc_array(max, sizeof(*l->code), KPL_GFP);
	if (kpl_wants_places(arg))
		l->out_pc = kvmalloc_array(arg->nr_insns, sizeof(*l->out_pc), KPL_GFP);
	if (!l->v.ws || !l->code || (kpl_wants_places(arg) && !l->out_pc))
		return -ENOMEM;
	kpl_verify_rights(&l->v, kpl_rights_now(s), KPL_WRITE_REGS, KPL_REG_RETURN);
	err = kpl_verify(&l->v);
	if (!err)
		err = kpl_loading_targets(l);
	if (!err)
		err = kpl_rewrite(&l->v, l->code, max, &l->nr_code, l->out_pc);
	if (err) {
		arg->reject = l->v.reject;
		arg->reject_pc = l->v.reject_pc;
		return err;
	}
	kpl_choose_helpers(s, l);
	kpl_bind_maps(l->code, l->nr_code, l->map_values);
	return 0;
}

static void kpl_prog_free(struct kpl_session *s, struct kpl_prog *prog)
{
	if (prog->native)
		kpl_native_free(prog->native);
	kvfree(prog->starts);
	kvfree(prog->code);
	if (prog->sites)
		kpl_sites_free(prog->sites);
	kpl_uncharge(s, prog->charged);
	kfree(prog);
}

static struct kpl_prog *kpl_prog_make(struct kpl_session *s, struct kpl_loading *l)
{
	u64 memory = sizeof(struct kpl_prog) + kpl_native_memory(l->nr_code) +
		     kpl_sites_memory(l->arg->nr_insns) +
		     (l->out_pc ? l->arg->nr_insns * sizeof(*l->out_pc) : 0);
	int err = kpl_charge(s, memory);
	struct kpl_prog *prog;

	if (err)
		return ERR_PTR(err);
	prog = kzalloc(sizeof(*prog), KPL_GFP);
	if (!prog) {
		kpl_uncharge(s, memory);
		return ERR_PTR(-ENOMEM);
	}
	prog->charged = memory;
	prog->kind = l->arg->kind;
	prog->nr_insns = l->arg->nr_insns;
	prog->data_size = l->arg->data_size;
	prog->most = l->v.cost + (l->v.has_loops ? l->v.fuel : 0);
	bitmap_copy(prog->maps, l->uses, KPL_MAX_MAPS);
	prog->regs_read = l->v.regs_read;
	prog->full_regs = (l->v.regs_read | l->v.regs_written) & ~KPL_TRACE_REGS;
	prog->writes = l->v.regs_written;
	prog->moved = l->v.moved;
	prog->nr_targets = l->v.nr_targets;
	memcpy(prog->targets, l->v.targets, sizeof(prog->targets));
	prog->reads_ip = (l->v.regs_read & KPL_TRACE_REG(ip)) || kpl_walks(l);
	prog->status_alone = l->v.looks == KPL_LOOKS_AT_STATUS;
	prog->looks = prog->status_alone ? KPL_LOOKS_AT_ALL : l->v.looks;
	prog->adds = kpl_adds_of(s, l);
	prog->sites = kpl_sites_alloc(prog->kind, prog->nr_insns, prog->looks);
	if (!prog->sites) {
		kpl_prog_free(s, prog);
		return ERR_PTR(-ENOMEM);
	}
	if (!(l->arg->flags & KPL_PROG_F_INTERPRET))
		prog->native = kpl_native_make(l->code, l->nr_code, l->v.stack_depth, l->out_pc);
	if (prog->native) {
		prog->starts = kpl_native_starts(prog->native, l->out_pc, prog->nr_insns);
		l->out_pc = NULL;
		prog->run = context_tracking_enabled() ?
			kpl_run_native_tickless : (kpl_run_fn)(void *)prog->native->bpf_func;
		prog->insns = prog->native->insnsi;
	} else {
		prog->run = context_tracking_enabled() ?
			kpl_run_interpreted_tickless : kpl_run_interpreted;
		prog->code = l->code;
		prog->insns = prog->code;
		l->code = NULL;
	}
	return prog;
}

static int kpl_prog_publish(struct kpl_session *s, struct kpl_loading *l, struct kpl_prog *prog)
{
	struct kpl_prog_load *arg = l->arg;
	int err = xa_alloc(&s->progs, &arg->id, prog, XA_LIMIT(0, KPL_MAX_PROGS - 1), KPL_GFP);

	if (err)
		return err == -EBUSY ? -E2BIG : err;	/* all numbers are taken */
	arg->cost = l->v.cost;
	arg->jited = !!prog->native;
	arg->native_len = prog->native ? prog->native->jited_len : 0;
	return 0;
}

/* With what was copied; the session is locked. */
static int kpl_prog_load_copied(struct kpl_session *s, struct kpl_loading *l)
{
	struct kpl_prog *prog;
	int err;

	err = kpl_loading_maps(s, l);
	if (err)
		return err;
	err = kpl_loading_verify(s, l);
	if (err)
		return err;
	err = kpl_scratch_reserve(s, l->arg->scratch_size);
	if (err)
		return err;
	prog = kpl_prog_make(s, l);
	if (IS_ERR(prog))
		return PTR_ERR(prog);
	err = kpl_prog_publish(s, l, prog);
	if (err)
		kpl_prog_free(s, prog);
	return err;
}

int kpl_prog_load(struct kpl_session *s, struct kpl_prog_load *arg)
{
	struct kpl_loading l = { .arg = arg };
	int err;

	arg->reject = KPL_REJECT_NONE;
	arg->reject_pc = 0;
	err = kpl_check_prog_load(arg);
	if (err)
		return err;
	err = kpl_loading_copy(s, &l);
	if (!err)
		err = kpl_session_lock(s);
	if (!err) {
		err = kpl_prog_load_copied(s, &l);
		kpl_session_unlock(s);
	}
	kpl_loading_free(s, &l);
	return err;
}

struct kpl_prog *kpl_prog_get(struct kpl_session *s, u32 id)
{
	return xa_load(&s->progs, id);
}

bool kpl_progs_use_map(struct kpl_session *s, u32 map)
{
	struct kpl_prog *prog;
	unsigned long id;

	xa_for_each(&s->progs, id, prog)
		if (test_bit(map, prog->maps))
			return true;
	return false;
}

void kpl_prog_drop(struct kpl_session *s, u32 id)
{
	kpl_prog_free(s, xa_erase(&s->progs, id));
}

void kpl_progs_free(struct kpl_session *s)
{
	struct kpl_prog *prog;
	unsigned long id;

	xa_for_each(&s->progs, id, prog)
		kpl_prog_free(s, prog);
	xa_destroy(&s->progs);
}

/* ---------------------------------------------------------- what is told of them */

/* What is copied out: what has room of the code, and the starts if they are wanted. */
struct kpl_native_copy {
	void *code;
	u32 len;
	u32 *starts;
};

static int kpl_native_take(const struct kpl_prog *prog, struct kpl_prog_native *arg,
			   struct kpl_native_copy *copy)
{
	u32 room = arg->size;

	if (!prog || (arg->nr_starts && arg->nr_starts != prog->nr_insns))
		return -EINVAL;
	arg->size = 0;
	arg->addr = 0;
	if (!prog->native)
		return 0;
	if (arg->nr_starts && !prog->starts)
		return -ENODATA;
	copy->len = min(room, prog->native->jited_len);
	copy->code = kvmalloc(copy->len, KPL_GFP);
	copy->starts = kvmalloc_array(arg->nr_starts, sizeof(*copy->starts), KPL_GFP);
	if ((copy->len && !copy->code) || (arg->nr_starts && !copy->starts))
		return -ENOMEM;
	memcpy(copy->code, prog->native->bpf_func, copy->len);
	memcpy(copy->starts, prog->starts, arg->nr_starts * sizeof(*copy->starts));
	arg->size = prog->native->jited_len;
	arg->addr = (unsigned long)prog->native->bpf_func;
	return 0;
}

int kpl_prog_native(struct kpl_session *s, struct kpl_prog_native *arg)
{
	struct kpl_native_copy copy = {};
	int err;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	err = kpl_check_prog_native(arg) ?: kpl_session_lock(s);
	if (err)
		return err;
	err = kpl_native_take(kpl_prog_get(s, arg->id), arg, &copy);
	kpl_session_unlock(s);
	if (!err && arg->size &&
	    (copy_to_user(u64_to_user_ptr(arg->code), copy.code, copy.len) ||
	     copy_to_user(u64_to_user_ptr(arg->starts), copy.starts,
			  arg->nr_starts * sizeof(*copy.starts))))
		err = -EFAULT;
	kvfree(copy.code);
	kvfree(copy.starts);
	return err;
}

int kpl_prog_sites(struct kpl_session *s, struct kpl_prog_sites *arg)
{
	struct kpl_site *sites = kvmalloc_array(KPL_MAX_SITES, sizeof(*sites), KPL_GFP);
	struct kpl_prog *prog;
	int err;

	if (!sites)
		return -ENOMEM;
	err = kpl_session_lock(s);
	if (err)
		goto out;
	prog = kpl_prog_get(s, arg->id);
	if (prog)
		arg->nr = min(arg->nr, kpl_sites_collect(prog->sites, sites));
	else
		err = -EINVAL;
	kpl_session_unlock(s);
	if (!err && copy_to_user(u64_to_user_ptr(arg->sites), sites, arg->nr * sizeof(*sites)))
		err = -EFAULT;
out:
	kvfree(sites);
	return err;
}
