// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * One probe of the kernel's own, with nothing of ours: what falls with it, too,
 * is the kernel's fault or the emulator's.  Written to the parameter `on`:
 *
 *	KIND ADDRESS	a probe there: ftrace, kprobe, kretprobe, direct (its entry)
 *	off		it is gone
 *
 * The parameter `hits` says how often it was hit.
 */
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/version.h>
#ifdef CONFIG_X86_64
#include <asm/linkage.h>
#endif

static atomic_long_t hits;
static enum { OFF, FTRACE, KPROBE, KRETPROBE, DIRECT, KINDS } armed;

static int on_kprobe(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&hits);
	return 0;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	atomic_long_inc(&hits);
	return 0;
}

static struct kprobe kprobe;
static struct kretprobe kretprobe;

#ifdef CONFIG_DYNAMIC_FTRACE

static void notrace on_ftrace(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			      struct ftrace_regs *regs)
{
	atomic_long_inc(&hits);
}

static struct ftrace_ops ops;

static int ftrace_on(unsigned long addr)
{
	ops = (struct ftrace_ops){ .func = on_ftrace };
	return ftrace_set_filter_ip(&ops, addr, 0, 0) ?: register_ftrace_function(&ops);
}

static void ftrace_off(void)
{
	unregister_ftrace_function(&ops);
	ftrace_free_filter(&ops);
}

#else

static int ftrace_on(unsigned long addr)
{
	return -EOPNOTSUPP;
}

static void ftrace_off(void)
{
}

#endif

#if defined(CONFIG_X86_64) && defined(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS)

static struct ftrace_ops direct_ops;

void kpl_control_called(void);
void kpl_control_trampoline(void);

void notrace kpl_control_called(void)
{
	atomic_long_inc(&hits);
}

/* Called by the function's first instruction: registers that pass arguments stay as they are. */
asm(".pushsection .text, \"ax\"\n"
    ".type kpl_control_trampoline, @function\n"
    "kpl_control_trampoline:\n"
    "	endbr64\n"
    "	pushq %rbp\n	movq %rsp, %rbp\n"
    "	pushq %rdi\n	pushq %rsi\n	pushq %rdx\n	pushq %rcx\n"
    "	pushq %r8\n	pushq %r9\n	pushq %rax\n	pushq %r10\n"
    "	call kpl_control_called\n"
    "	popq %r10\n	popq %rax\n	popq %r9\n	popq %r8\n"
    "	popq %rcx\n	popq %rdx\n	popq %rsi\n	popq %rdi\n"
    "	popq %rbp\n"
    ASM_RET
    ".size kpl_control_trampoline, .-kpl_control_trampoline\n"
    ".popsection\n");

static int direct_on(unsigned long addr)
{
	int err = ftrace_set_filter_ip(&direct_ops, addr, 0, 0);

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	return err ?: register_ftrace_direct_multi(&direct_ops, (unsigned long)kpl_control_trampoline);
#else
	return err ?: register_ftrace_direct(&direct_ops, (unsigned long)kpl_control_trampoline);
#endif
}

static void direct_off(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	unregister_ftrace_direct_multi(&direct_ops, (unsigned long)kpl_control_trampoline);
	ftrace_free_filter(&direct_ops);
#else
	unregister_ftrace_direct(&direct_ops, (unsigned long)kpl_control_trampoline, true);
#endif
	memset(&direct_ops, 0, sizeof(direct_ops));
}

#else

static int direct_on(unsigned long addr)
{
	return -EOPNOTSUPP;
}

static void direct_off(void)
{
}

#endif

static void off(void)
{
	switch (armed) {
	case FTRACE:
		ftrace_off();
		break;
	case KPROBE:
		unregister_kprobe(&kprobe);
		break;
	case KRETPROBE:
		unregister_kretprobe(&kretprobe);
		break;
	case DIRECT:
		direct_off();
		break;
	default:
		break;
	}
	armed = OFF;
}

static int on(int kind, unsigned long addr)
{
	switch (kind) {
	case FTRACE:
		return ftrace_on(addr);
	case KPROBE:
		kprobe = (struct kprobe){ .addr = (void *)addr, .pre_handler = on_kprobe };
		return register_kprobe(&kprobe);
	case KRETPROBE:
		kretprobe = (struct kretprobe){ .kp.addr = (void *)addr, .handler = on_return };
		return register_kretprobe(&kretprobe);
	case DIRECT:
		return direct_on(addr);
	}
	return -EINVAL;
}

static int set_on(const char *text, const struct kernel_param *kp)
{
	static const char * const names[KINDS] = { "off", "ftrace", "kprobe", "kretprobe", "direct" };
	unsigned long addr = 0;
	char kind[16];
	int nr, err;

	if (sscanf(text, "%15s %lx", kind, &addr) < 1)
		return -EINVAL;
	nr = match_string(names, KINDS, kind);
	if (nr < 0)
		return nr;
	off();
	err = nr == OFF ? 0 : on(nr, addr);
	if (!err)
		armed = nr;
	return err;
}

static int get_hits(char *text, const struct kernel_param *kp)
{
	return sprintf(text, "%ld\n", atomic_long_read(&hits));
}

static const struct kernel_param_ops on_ops = { .set = set_on }, hits_ops = { .get = get_hits };

module_param_cb(on, &on_ops, NULL, 0200);
module_param_cb(hits, &hits_ops, NULL, 0400);

static int __init kpl_control_init(void)
{
	return 0;
}

static void __exit kpl_control_exit(void)
{
	off();
}

module_init(kpl_control_init);
module_exit(kpl_control_exit);

MODULE_DESCRIPTION("The kernel's own probes, to compare with");
MODULE_LICENSE("Dual MIT/GPL");
