// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The interpreter: runs a rewritten program exactly as the kernel's JIT does.
 * It checks nothing: verifier and rewriter have made the program safe.
 */
#include "core.h"

/* A test that follows the execution defines it before it includes this file. */
#ifndef KPL_INTERP_STEP
#define KPL_INTERP_STEP(insn, regs)
#endif

#define SIGNED(x)	_Generic((x), u32: (s32)(x), u64: (s64)(x))
#define SHIFT(s)	((s) & (sizeof(s) * 8 - 1))
#define ADDRESS(reg)	((unsigned long)(r[insn->reg] + insn->off))

/* Results of 32 bits are zero-extended to the register. */
#define ALU_CASE(opcode, type, operand, value)		\
	case opcode: {					\
		type d = r[insn->dst_reg];		\
		type s = operand;			\
							\
		(void)d;				\
		r[insn->dst_reg] = (type)(value);	\
		break;					\
	}

#define JCC_CASE(opcode, type, operand, condition)	\
	case opcode: {					\
		type d = r[insn->dst_reg];		\
		type s = operand;			\
							\
		if (condition)				\
			insn += insn->off;		\
		break;					\
	}

static u64 swap(u64 value, int bits, int big_endian)
{
	if (big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__))
		value = __builtin_bswap64(value) >> (64 - bits);
	return bits == 64 ? value : value & ((1ull << bits) - 1);
}

u64 kpl_interpret_on(const struct bpf_insn *insn, struct kpl_hit *hit,
		     const kpl_helper_fn *helpers, void *fp)
{
	u64 r[11];

	r[1] = (unsigned long)hit;
	r[10] = (unsigned long)fp;

	for (;; insn++) {
		KPL_INTERP_STEP(insn, r);
		switch (insn->code) {
#define ALU(op, symbol, value)								\
		ALU_CASE(BPF_ALU64 | BPF_##op | BPF_X, u64, r[insn->src_reg], value)	\
		ALU_CASE(BPF_ALU64 | BPF_##op | BPF_K, u64, (s64)insn->imm, value)	\
		ALU_CASE(BPF_ALU | BPF_##op | BPF_X, u32, r[insn->src_reg], value)	\
		ALU_CASE(BPF_ALU | BPF_##op | BPF_K, u32, insn->imm, value)
#define JCC(op, symbol, condition)							\
		JCC_CASE(BPF_JMP | BPF_##op | BPF_X, u64, r[insn->src_reg], condition)	\
		JCC_CASE(BPF_JMP | BPF_##op | BPF_K, u64, (s64)insn->imm, condition)	\
		JCC_CASE(BPF_JMP32 | BPF_##op | BPF_X, u32, r[insn->src_reg], condition)	\
		JCC_CASE(BPF_JMP32 | BPF_##op | BPF_K, u32, insn->imm, condition)
#define MEM(size, type)									\
		case BPF_LDX | BPF_MEM | BPF_##size:					\
			r[insn->dst_reg] = *(type *)ADDRESS(src_reg);			\
			break;								\
		case BPF_ST | BPF_MEM | BPF_##size:					\
			*(type *)ADDRESS(dst_reg) = (s64)insn->imm;			\
			break;								\
		case BPF_STX | BPF_MEM | BPF_##size:					\
			*(type *)ADDRESS(dst_reg) = r[insn->src_reg];			\
			break;
#define OP(name, code, form)								\
		case code:								\
			goto op_##name;
#include "insns.def"
		default:	/* not in the map: refused by the verifier */
			return KPL_RET_STOP(KPL_STOP_RESULT, 0);
		}
		continue;

op_NEG32:
		r[insn->dst_reg] = -(u32)r[insn->dst_reg];
		continue;
op_NEG64:
		r[insn->dst_reg] = -r[insn->dst_reg];
		continue;
op_TO_LE:
		r[insn->dst_reg] = swap(r[insn->dst_reg], insn->imm, 0);
		continue;
op_TO_BE:
		r[insn->dst_reg] = swap(r[insn->dst_reg], insn->imm, 1);
		continue;
op_LD64:
		r[insn->dst_reg] = (u32)insn[0].imm | (u64)(u32)insn[1].imm << 32;
		insn++;
		continue;
op_JA:
		insn += insn->off;
		continue;
op_CALL:
		r[0] = helpers[insn->imm](r[1], r[2], r[3], r[4], r[5]);
		continue;
op_EXIT:
		return r[0];
	}
}

u64 kpl_interpret(const struct bpf_insn *insns, struct kpl_hit *hit,
		  const kpl_helper_fn *helpers)
{
	u64 stack[KPL_MAX_STACK / 8];

	return kpl_interpret_on(insns, hit, helpers, stack + KPL_MAX_STACK / 8);
}
