// SPDX-License-Identifier: MIT
/*
 * What the core makes of each program of a file (sample.h): its verdict, the
 * rewritten code, and what a run leaves when every helper returns 0.  It is
 * built by several compilers; what they print must be the same.
 *
 *   verdicts < SAMPLES
 *   verdicts --reasons	why the verifier refuses, a line each
 */
#include <stdio.h>
#include <stdlib.h>

#include "verdicts/sample.h"

static u64 helper(u64 r1, u64 r2, u64 r3, u64 r4, u64 r5)
{
	(void)r1, (void)r2, (void)r3, (void)r4, (void)r5;
	return 0;
}

static void *items(u32 nr, size_t size)
{
	void *all = calloc(nr + 1, size);

	if (!all || fread(all, size, nr, stdin) != nr) {
		fprintf(stderr, "verdicts: no such sample\n");
		exit(2);
	}
	return all;
}

static u64 hash(u64 from, const void *data, size_t size)
{
	const u8 *bytes = data;

	for (size_t i = 0; i < size; i++)
		from = from * 31 + bytes[i];
	return from;
}

/* What may be seen of a run: result and memory. */
static u64 run(const struct sample *s, const struct bpf_insn *code)
{
	static u64 regs[64], stack[KPL_MAX_STACK / 8];
	static u64 data[KPL_MAX_DATA / 8], scratch[KPL_MAX_SCRATCH / 8];
	static kpl_helper_fn helpers[KPL_H_END_];
	struct kpl_hit hit = {
		.regs = (unsigned long)regs,
		.data = (unsigned long)data,
		.scratch = (unsigned long)scratch,
		.func = 0x1000, .addr = 0x1004,
	};
	u64 r0;

	for (u32 i = 0; i < KPL_H_END_; i++)
		helpers[i] = helper;
	for (u32 i = 0; i < 64; i++)
		regs[i] = i * 0x1001;
	memset(stack, 0, sizeof(stack));
	memset(data, 0, s->data_size);
	memset(scratch, 0, s->scratch_size);
	r0 = kpl_interpret_on(code, &hit, helpers, stack + KPL_MAX_STACK / 8);
	return hash(hash(hash(1, &r0, sizeof(r0)), data, s->data_size), scratch, s->scratch_size);
}

/* What is known of each instruction; less room than they take is refused. */
static u64 told(struct kpl_verify *v, struct bpf_insn *code, u32 nr)
{
	u32 *places = calloc(v->nr_insns, sizeof(*places)), place;
	u64 all = 1;

	kpl_rewrite(v, code, nr, &nr, places);
	for (u32 pc = 0; pc < v->nr_insns; pc++) {
		u32 facts[] = { places[pc], kpl_insn_cost(v, pc), (u32)kpl_agg_of_call(v, pc, &place), place };

		all = hash(all, facts, sizeof(facts));
	}
	free(places);
	if (kpl_rewrite(v, code, nr - 1, &nr, NULL))
		printf("  in less room: -1, %s, at %u\n", kpl_reject_text(v->reject), v->reject_pc);
	return all;
}

static void judge(const struct sample *s, struct kpl_verify *v)
{
	u32 max = s->nr_insns < KPL_MAX_INSNS ? 4 * s->nr_insns + 1 : KPL_MAX_SLOTS, nr, id;
	struct bpf_insn *code = calloc(max, sizeof(*code));
	u64 *values = calloc(s->nr_maps + 1, sizeof(*values)), of_code, bound;
	int err;

	printf("%s: ", s->name);
	fflush(stdout);	/* it stands before what the program makes crash */
	err = kpl_verify(v);
	if (!err)
		err = kpl_rewrite(v, code, max, &nr, NULL);
	if (err) {
		printf("%d, %s, at %u, cost %u, fuel %u, depth %u\n", err, kpl_reject_text(v->reject),
		       v->reject_pc, v->cost, v->fuel, v->stack_depth);
		goto out;
	}
	if (v->reject || v->reject_pc)
		printf("accepted, and yet %s, at %u: ", kpl_reject_text(v->reject), v->reject_pc);
	of_code = hash(1, code, nr * sizeof(*code));
	for (id = 0; id < s->nr_maps; id++)
		values[id] = 0xfedcba9887654321 + id;
	kpl_bind_maps(code, nr, values);
	bound = hash(1, code, nr * sizeof(*code));
	printf("cost %u, fuel %u, depth %u, loops %u, emits %u, looks %u, registers %llx, %u slots, code %llx, bound %llx, run %llx\n",
	       v->cost, v->fuel, v->stack_depth, v->has_loops, v->emits, v->looks,
	       (unsigned long long)v->regs_read, nr, (unsigned long long)of_code, (unsigned long long)bound,
	       (unsigned long long)run(s, code));
	printf("  instructions %llx\n", (unsigned long long)told(v, code, nr));
	if (v->moved || v->regs_written)
		printf("  moves %u to %u places, registers %llx\n", v->moved, v->nr_targets,
		       (unsigned long long)hash(v->regs_written, v->targets, v->nr_targets * sizeof(*v->targets)));
out:
	free(code);
	free(values);
}

int main(int argc, char **argv)
{
	struct sample s;

	for (u32 i = 1; argc > 1 && !strcmp(argv[1], "--reasons") && i < KPL_REJECT_END_; i++)
		puts(kpl_reject_text(i));
	if (argc > 1)
		return 0;
	while (fread(&s, sizeof(s), 1, stdin) == 1) {
		struct bpf_insn *insns = items(s.nr_insns, sizeof(*insns));
		struct kpl_label *labels = items(s.nr_labels, sizeof(*labels));
		struct kpl_map_desc *maps = items(s.nr_maps, sizeof(*maps));
		struct kpl_verify v;

		/* What it is to fill in holds something else before. */
		memset(&v, 0xa5, sizeof(v));
		v.insns = insns;
		v.labels = labels;
		v.maps = maps;
		v.nr_insns = s.nr_insns;
		v.nr_labels = s.nr_labels;
		v.nr_maps = s.nr_maps;
		v.kind = s.kind;
		v.data_size = s.data_size;
		v.scratch_size = s.scratch_size;
		v.budget = s.budget;
		v.regs_size = 21 * 8;
		v.max_record = s.max_record;
		v.ws = malloc(kpl_verify_ws_size(s.nr_insns));
		kpl_verify_rights(&v, s.rights, 0x7fbf, 1ull << 10);	/* of x86-64 */
		judge(&s, &v);
		free(insns);
		free(labels);
		free(maps);
		free(v.ws);
	}
	return 0;
}
