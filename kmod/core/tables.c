// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The .def tables as data: instructions, helpers, hit fields, texts. */
#include "core.h"

static_assert(sizeof(struct kpl_label) == 64, "ABI");
static_assert(sizeof(struct kpl_hit) == 72, "ABI");
static_assert(sizeof(struct kpl_rec) == 24, "ABI");
static_assert(sizeof(struct kpl_rec_str) == 8, "ABI");
static_assert(sizeof(struct kpl_str) == 8, "ABI");

const u8 kpl_insn_forms[256] = {
#define ALU(op, symbol, value)				\
	[BPF_ALU | BPF_##op | BPF_K] = KPL_F_ALU_K,	\
	[BPF_ALU | BPF_##op | BPF_X] = KPL_F_ALU_X,	\
	[BPF_ALU64 | BPF_##op | BPF_K] = KPL_F_ALU_K,	\
	[BPF_ALU64 | BPF_##op | BPF_X] = KPL_F_ALU_X,
#define JCC(op, symbol, condition)			\
	[BPF_JMP | BPF_##op | BPF_K] = KPL_F_JCC_K,	\
	[BPF_JMP | BPF_##op | BPF_X] = KPL_F_JCC_X,	\
	[BPF_JMP32 | BPF_##op | BPF_K] = KPL_F_JCC_K,	\
	[BPF_JMP32 | BPF_##op | BPF_X] = KPL_F_JCC_X,
#define MEM(size, type)					\
	[BPF_LDX | BPF_MEM | BPF_##size] = KPL_F_LDX,	\
	[BPF_ST | BPF_MEM | BPF_##size] = KPL_F_ST,	\
	[BPF_STX | BPF_MEM | BPF_##size] = KPL_F_STX,
#define OP(name, code, form) [code] = KPL_F_##form,
#include "insns.def"
};

/*
 * An unused argument is written `-` in helpers.def.  Each word of the table is
 * followed by (0): `-(0)` is KPL_A_UNUSED, a word is a macro call.
 */
#define NUM(x)		KPL_A_NUM
#define CONST(x)	KPL_A_CONST
#define HIT(x)		KPL_A_HIT
#define AGG(x)		KPL_A_AGG
#define NAMES(x)	KPL_A_NAMES
#define HASH(x)		KPL_A_HASH
#define KEY(x)		KPL_A_KEY
#define VAL(x)		KPL_A_VAL
#define OUT(x)		KPL_A_OUT
#define RMEM(x)		KPL_A_RMEM
#define WMEM(x)		KPL_A_WMEM
#define STR(x)		KPL_A_STR
#define WSTR(x)		KPL_A_WSTR
#define LIST(x)		KPL_A_LIST
#define REC(x)		KPL_A_REC

const struct kpl_helper_desc kpl_helper_descs[KPL_H_END_] = {
#define HELPER(id, name_, result_, a1, a2, a3, a4, a5, cost_, word_, looks_, effect_, bits_)	\
	[id] = {							\
		.name = #name_,						\
		.result = KPL_R_##result_,				\
		.arg = { a1(0), a2(0), a3(0), a4(0), a5(0) },		\
		.looks = KPL_LOOKS_##looks_,				\
		.effect = KPL_EFFECT_##effect_,				\
		.bits = bits_,						\
		.cost = cost_,						\
		.word = word_,						\
	},
#include "../uapi/helpers.def"
#undef HELPER
};

#undef NUM
#undef CONST
#undef HIT
#undef AGG
#undef HASH
#undef KEY
#undef VAL
#undef OUT
#undef RMEM
#undef WMEM
#undef STR
#undef WSTR
#undef LIST
#undef REC

const struct kpl_hit_desc kpl_hit_descs[] = {
#define SAME	0
#define CHANGES	1
#define HIT(field, type_, kinds_, looks_, during_)		\
	{							\
		.name = #field,					\
		.off = offsetof(struct kpl_hit, field),		\
		.size = sizeof(((struct kpl_hit *)0)->field),	\
		.type = KPL_T_##type_,				\
		.kinds = kinds_,				\
		.looks = KPL_LOOKS_##looks_,			\
		.changes = during_,				\
	},
#include "../uapi/hit.def"
#undef HIT
#undef SAME
#undef CHANGES
};

const u32 kpl_nr_hit_descs = sizeof(kpl_hit_descs) / sizeof(kpl_hit_descs[0]);

const struct kpl_agg_desc kpl_agg_descs[KPL_MAP_HASH] = {
#define AGG(id, name_, holds_, slots_, shows_)		\
	[KPL_MAP_##id] = {				\
		.name = #name_,				\
		.holds = holds_,			\
		.slots = KPL_SLOTS_##slots_,		\
		.shows = KPL_SHOWS_##shows_,		\
	},
#include "../uapi/aggs.def"
#undef AGG
};

/* Of x86's system calls, all entries are marked; the last names those without arguments, too. */
static const char *const entries[] = {
	"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__do_sys_",
};

u32 kpl_returns_of(const char *function, const char *module)
{
	static const struct {
		const char *name;
		u32 returns;
		const char *module;
	} marked[] = {
#define INJECT(name, returns, module) { #name, KPL_RETURNS_##returns, #module },
#include "../uapi/inject.def"
#undef INJECT
	};
	u32 i;

	/* Not what the compiler made of them: it begins behind their first steps. */
	for (i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!*module && !strchr(function, '.') &&
		    !strncmp(function, entries[i], strlen(entries[i])))
			return KPL_RETURNS_ERRNO;
	for (i = 0; i < sizeof(marked) / sizeof(marked[0]); i++)
		if (!strcmp(function, marked[i].name) &&
		    (!*module || !strcmp(module, marked[i].module)))
			return marked[i].returns;
	return KPL_RETURNS_ANY;
}

int kpl_returns_fit(u32 returns, s64 value)
{
	int is_errno = value >= -4095 && value <= -1;

	switch (returns) {
	case KPL_RETURNS_NULL:
		return !value;
	case KPL_RETURNS_ERRNO:
		return is_errno;
	case KPL_RETURNS_ERRNO_NULL:
		return !value || is_errno;
	case KPL_RETURNS_TRUE:
		return value == 1;
	}
	return 1;
}

u32 kpl_ending(u32 kind, u32 nr_insns, u64 r0)
{
	u32 reason = KPL_RET_REASON(r0);

	if (r0 == KPL_RET_DONE || (r0 == KPL_RET_SKIP && kind == KPL_PROG_ENTRY))
		return (u32)r0;
	if (r0 >> 32 || reason <= KPL_STOP_FIRST_ || reason >= KPL_STOP_END_ ||
	    KPL_RET_PC(r0) >= nr_insns)
		return KPL_RET_STOP(KPL_STOP_RESULT, 0);
	return (u32)r0;
}

const char *kpl_reject_text(u32 reject)
{
	static const char *const texts[] = {
		[KPL_REJECT_NONE] = "accepted",
#define REJECT(name, text) [KPL_REJECT_##name] = text,
#include "../uapi/rejects.def"
#undef REJECT
	};

	return reject < KPL_REJECT_END_ ? texts[reject] : "unknown reason";
}

const char *kpl_stop_text(u32 stop)
{
	static const char *const texts[KPL_STOP_END_] = {
#define STOP(name, class, text) [KPL_STOP_##name] = text,
#include "../uapi/stops.def"
#undef STOP
	};

	return stop < KPL_STOP_END_ && texts[stop] ? texts[stop] : "unknown reason";
}
