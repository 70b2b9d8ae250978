/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The stubs themselves: stubs.h says what they do.
 *
 * Of r10, r11 and ax a function expects nothing when ftrace's site is passed,
 * unless it takes a variable number of arguments.  ftrace, too, keeps the six
 * argument registers and no other.
 */
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/unwind_hints.h>

#include "stubs.h"

.macro ARGS_SAVE
	movq	%rdi, KPL_FRAME_DI(%rsp)
	movq	%rsi, KPL_FRAME_SI(%rsp)
	movq	%rdx, KPL_FRAME_DX(%rsp)
	movq	%rcx, KPL_FRAME_CX(%rsp)
	movq	%r8, KPL_FRAME_R8(%rsp)
	movq	%r9, KPL_FRAME_R9(%rsp)
.endm

.macro ARGS_LOAD
	movq	KPL_FRAME_DI(%rsp), %rdi
	movq	KPL_FRAME_SI(%rsp), %rsi
	movq	KPL_FRAME_DX(%rsp), %rdx
	movq	KPL_FRAME_CX(%rsp), %rcx
	movq	KPL_FRAME_R8(%rsp), %r8
	movq	KPL_FRAME_R9(%rsp), %r9
.endm

/* A static call that this file makes and stubs.c aims: objtool finds it by its key. */
.macro STATIC_CALL name:req n:req
	call	__SCT__kpl_\name\()_\n
	.pushsection .discard.addressable, "aw"
	.quad	__SCK__kpl_\name\()_\n
	.popsection
.endm

/*
 * The caller's arguments on the stack: `above` words lie between the frame and
 * them.  Not all are arguments, and the stack may end before: an interrupt's
 * ends right above its outermost call.  What is not there is zero.
 */
.macro STACK_ARGS_PUSH above:req
	.set	.Lword, KPL_STUB_STACK_ARGS - 1
	.rept	KPL_STUB_STACK_ARGS
1:	movq	8 * (\above + .Lword)(%rbp), %rax
2:	pushq	%rax
	_ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_ZERO_REG)	/* ax: the register of number 0 */
	.set	.Lword, .Lword - 1
	.endr
.endm

/*
 * Before the function.  The call is counted before it can sleep, and is then
 * counted again when it leaves: see kpl_stubs_busy().
 */
.macro STUB_ENTER n:req
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$KPL_FRAME_SIZE, %rsp
	ARGS_SAVE
	incq	PER_CPU_VAR(kpl_stub_entered)
	movq	kpl_stub_all + (\n << KPL_STUB_SHIFT) + KPL_STUB_CALL(%rip), %rax
	movq	%rax, KPL_FRAME_CALL(%rsp)
	movq	%rsp, %rdi
	leaq	kpl_stub_all + (\n << KPL_STUB_SHIFT)(%rip), %rsi
	movq	%rsi, KPL_FRAME_STUB(%rsp)
.endm

/* Behind the function. */
.macro STUB_EXIT n:req stack:req
	.if \stack
	addq	$(8 * KPL_STUB_STACK_ARGS), %rsp
	.endif
	movq	%rax, KPL_FRAME_AX(%rsp)
	movq	%rdx, KPL_FRAME_DX(%rsp)
	movq	%rsp, %rdi
	leaq	kpl_stub_all + (\n << KPL_STUB_SHIFT)(%rip), %rsi
	STATIC_CALL exit \n
	incq	PER_CPU_VAR(kpl_stub_left)
	movq	KPL_FRAME_AX(%rsp), %rax
	movq	KPL_FRAME_DX(%rsp), %rdx
	leave
.endm

.macro STUB_LIST n:req
	.pushsection .rodata
	.quad	kpl_stub_\n
	.popsection
.endm

/*
 * Of one function: it calls what stands behind the function's site.  The site's
 * own call is taken back by a return, which the processor mispredicts here; left
 * on its stack of return addresses, it would have each outer frame mispredicted.
 */
.macro STUB_OF_ONE n:req stack:req
SYM_FUNC_START_LOCAL(kpl_stub_\n)
	leaq	.Lbegin_\n(%rip), %rax
	movq	%rax, (%rsp)
	RET
.Lbegin_\n:
	ANNOTATE_NOENDBR
	UNWIND_HINT_FUNC
	STUB_ENTER \n
	STATIC_CALL enter \n
	ARGS_LOAD
	.if \stack
	STACK_ARGS_PUSH 2
	.endif
	STATIC_CALL body \n
	STUB_EXIT \n \stack
	RET
SYM_FUNC_END(kpl_stub_\n)
	STUB_LIST \n
.endm

/* Of many: where the function goes on stands where the site's call has put it, and returns to there. */
.macro STUB_OF_MANY n:req stack:req
SYM_FUNC_START_LOCAL(kpl_stub_\n)
	STUB_ENTER \n
	movq	8(%rbp), %rdx
	STATIC_CALL enter \n
	ARGS_LOAD
	.if \stack
	STACK_ARGS_PUSH 3
	.endif
	call	kpl_stub_go_on
	STUB_EXIT \n \stack
	leaq	8(%rsp), %rsp
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(kpl_stub_\n)
	STUB_LIST \n
.endm

	.section .rodata
	.balign 8
	.globl	kpl_stub_table
kpl_stub_table:

	.text
SYM_FUNC_START_LOCAL(kpl_stub_go_on)
	pushq	8(%rbp)
	UNWIND_HINT_FUNC
	RET
SYM_FUNC_END(kpl_stub_go_on)

SYM_FUNC_START(kpl_kept_nothing)
	RET
SYM_FUNC_END(kpl_kept_nothing)

#define KPL_STUB_ONE(n)		STUB_OF_ONE n, 0;
#define KPL_STUB_ONE_STACK(n)	STUB_OF_ONE n, 1;
#define KPL_STUB_MANY(n)	STUB_OF_MANY n, 0;
#define KPL_STUB_MANY_STACK(n)	STUB_OF_MANY n, 1;
KPL_EACH_ONE(KPL_STUB_ONE)
KPL_EACH_ONE_STACK(KPL_STUB_ONE_STACK)
KPL_EACH_MANY(KPL_STUB_MANY)
KPL_EACH_MANY_STACK(KPL_STUB_MANY_STACK)
