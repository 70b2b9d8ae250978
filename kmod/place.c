// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Places in the kernel's code: its own rules, and those that it lacks.  Process context. */
#include <linux/extable.h>
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/spinlock.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "compat.h"
#include "core/core.h"
#include "going.h"
#include "place.h"

/* "name.cold": the compiler moved this part of a function away, and it is jumped to. */
static bool kpl_is_cold(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.' || cold[5] == ' ');
}

/*
 * What an idle CPU enters with interrupts on while RCU does not watch it, before
 * 6.3, by which it polls and tells the time meanwhile: nobody could wait for a
 * handler there (kpl_hits_drain).
 */
static bool kpl_is_idle(const char *name)
{
	static const char * const idle[] = {
		"cpuidle_poll_time", "tick_check_broadcast_expired",
		"sched_clock_cpu", "sched_clock_local", "sched_clock_remote", "sched_clock",
		"native_sched_clock", "kvm_sched_clock_read", "pvclock_clocksource_read",
		"vmware_sched_clock", "xen_sched_clock", "xen_clocksource_read",
		"read_hv_sched_clock_tsc", "read_hv_sched_clock_msr",
	};

	return match_string(idle, ARRAY_SIZE(idle), name) >= 0;
}

static const struct exception_table_entry *kpl_no_fixup(unsigned long addr)
{
	return NULL;
}

DEFINE_STATIC_CALL(kpl_fixup_of, kpl_no_fixup);

/*
 * The kernel does not export it, but tells where it is.  A static call is direct:
 * it needs no landing pad, which may be sealed.
 */
void kpl_place_init(void)
{
	struct kprobe kp = {
		.symbol_name = "search_exception_tables",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = register_kprobe(&kp);

	if (err) {
		pr_warn("kprobe_lua: can't find %s (%d)\n", kp.symbol_name, err);
		return;
	}
	static_call_update(kpl_fixup_of, (typeof(&kpl_no_fixup))kp.addr);
	unregister_kprobe(&kp);
}

/* Whether a name begins as one of these. */
static bool kpl_is_of(const char * const *beginnings, u32 nr, const char *name)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (strstarts(name, beginnings[i]))
			return true;
	return false;
}

/*
 * Where the kernel registers probes and then dies of them.
 *
 * Code that it rewrites, or copies to run it elsewhere, without asking whether
 * a probe stands in it: the trampolines of static calls, where it then stops
 * at a BUG, and those of ftrace, whose copies jump anywhere.
 *
 * Code that a CPU runs as it comes up or wakes, before breakpoints lead anywhere,
 * or as it goes to another kernel, when they do not any more.
 *
 * What an idle CPU enters with interrupts off, and has them on further down or
 * when it returns: see above.
 *
 * What the compiler of a kernel that checks itself (KASAN, KMSAN, KCSAN, KCOV)
 * has called at each access, or each jump: by that which handles a breakpoint, too.
 *
 * What may fault and is then made good by the kernel's table of exceptions, as on
 * arm64: while it is stepped, it is looked for where the copy lies, unless the
 * fault is one of a page.  Any process could bring that about: by a signal frame
 * whose registers are none, say.
 *
 * What calls and returns go through where the processor leaks: those of the
 * breakpoint's handler, too.
 *
 * What a breakpoint's entry calls before kprobes knows of the breakpoint, or after
 * it has forgotten it: the tracers of latencies at each NMI, a debugger, what looks
 * whether RCU may be used.  And the one clock that takes a lock: handlers read it.
 *
 * Return probes on what returns as another task than it was called by.  The
 * kernel has a list of these, but compares the symbol's address with that of
 * the probe, which stands behind the landing pad.
 *
 * Return probes on what is jumped to and not called: on the stack lies something
 * else than the way back.  The kernel asks for a symbol's beginning alone.
 *
 * Return probes on what the kernel's return probes call on their way back,
 * inlined into functions that it forbids unless the compiler chose otherwise:
 * each return would be one more call of it.  On what sleeps and wakes up
 * somewhere else, or is in an image of memory: who called it would get its
 * instance.  And on what they call last, when the
 * CPU is wanted for another task: each return would end in one more.
 */
noinline_for_stack int kpl_check_place(u64 addr, bool returns)
{
	static const char * const copied[] = {
		"ftrace_caller", "ftrace_caller_op_ptr", "ftrace_call", "ftrace_caller_end",
		"ftrace_regs_caller", "ftrace_regs_caller_op_ptr", "ftrace_regs_call",
		"ftrace_regs_caller_jmp", "ftrace_regs_caller_end",
		"relocate_kernel", "identity_mapped", "virtual_mapped", "swap_pages",
		"core_restore_code", "restore_registers", "restore_image",
	};
	static const char * const early[] = {
		"secondary_startup_64", "secondary_startup_64_no_verify", "verify_cpu",
		"early_setup_idt", "start_secondary", "cr4_init", "native_write_cr4",
		"cpu_init_exception_handling", "common_startup_64", "startup_64_load_idt",
		"setup_ghcb", "load_current_idt", "native_load_tr_desc", "native_write_gdt_entry",
		"native_write_msr", "do_trace_write_msr", "cr4_update_irqsoff", "native_write_cr0",
		"native_write_cr3", "sev_verify_cbit", "wakeup_long64", "do_suspend_lowlevel",
		"restore_processor_state", "__restore_processor_state", "machine_kexec",
		"idt_invalidate", "native_idt_invalidate",
	};
	static const char * const thunks[] = {
		"__x86_return_thunk", "__x86_indirect_", "srso_", "retbleed_", "its_return_thunk",
		"call_depth_return_thunk", "zen_untrain_ret", "zen_return_thunk",
		"entry_untrain_ret",
	};
	static const char * const wakes[] = {
		"arch_cpu_idle", "default_idle", "mwait_idle", "amd_e400_idle",
		"poll_idle", "default_enter_idle", "intel_idle", "intel_idle_ibrs",
		"intel_idle_irq", "intel_idle_xstate", "acpi_idle_enter", "acpi_idle_enter_bm",
		"acpi_idle_do_entry", "acpi_safe_halt", "acpi_processor_ffh_cstate_enter",
	};
	static const char * const checks[] = {
		"kasan_", "__kasan_", "__asan_", "kmsan_", "__msan_", "kcsan_", "__kcsan_",
		"__tsan_", "__sanitizer_cov_", "write_comp_data", "check_kcov_mode",
		"ftrace_likely_update",
	};
	static const char * const before[] = {
		"trace_hwlat_callback", "trace_osnoise_callback", "trace_clock_local",
		"kgdb_ll_trap", "__kgdb_notify", "rcu_read_lock_any_held",
		"rcu_read_lock_held_common", "rcu_lockdep_current_cpu_online", "read_hpet",
		"get_cpu_data", "cond_move_irq_delta_start", "cond_move_softirq_delta_start",
		"cond_move_thread_delta_start", "__traceiter_nmi_noise", "perf_trace_nmi_noise",
		"trace_event_raw_event_nmi_noise",
	};
	static const char * const pools[] = {
		"objpool_", "__objpool_", "freelist_", "__freelist_",
	};
	static const char * const no_return[] = {
		"__switch_to", "ret_from_fork", "ret_from_fork_asm", "preempt_schedule_notrace",
		"preempt_schedule_notrace_thunk", "x86_acpi_enter_sleep_state",
		"acpi_enter_sleep_state", "acpi_hw_legacy_sleep", "acpi_hw_extended_sleep",
		"acpi_hw_write", "acpi_hw_write_multiple", "acpi_hw_register_write",
		"acpi_hw_write_pm1_control", "acpi_os_write_port", "acpi_os_write_memory",
		"swsusp_save", "copy_data_page", "copy_data_pages", "do_copy_page", "bpf_throw",
	};
	char name[KSYM_SYMBOL_LEN];

	if (static_call(kpl_fixup_of)(addr))
		return -EINVAL;
	sprint_symbol_no_offset(name, addr);
	if (kpl_is_of(thunks, ARRAY_SIZE(thunks), name) ||
	    kpl_is_of(checks, ARRAY_SIZE(checks), name) ||
	    (returns && kpl_is_of(pools, ARRAY_SIZE(pools), name)))
		return -EINVAL;
	if (strstarts(name, "__SCT__") || match_string(copied, ARRAY_SIZE(copied), name) >= 0)
		return -EINVAL;
	if (returns && kpl_is_cold(name))
		return -EINVAL;
	name[strcspn(name, ". ")] = '\0';	/* "[module]", what the compiler added */
	if (match_string(early, ARRAY_SIZE(early), name) >= 0 || kpl_is_idle(name) ||
	    match_string(wakes, ARRAY_SIZE(wakes), name) >= 0 ||
	    match_string(before, ARRAY_SIZE(before), name) >= 0)
		return -EINVAL;
	if (returns && match_string(no_return, ARRAY_SIZE(no_return), name) >= 0)
		return -EINVAL;
	return 0;
}

noinline_for_stack int kpl_check_site(u64 addr)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, addr);
	name[strcspn(name, ". ")] = '\0';
	return kpl_is_idle(name) ? -EINVAL : 0;
}

/*
 * By a hash of the address: places that share a number share the bound, which
 * takes thousands of probes with long handlers to be felt.
 */
#define KPL_CROWDS_BITS		14

static u32 kpl_crowds[1 << KPL_CROWDS_BITS];
static DEFINE_SPINLOCK(kpl_crowds_lock);

int kpl_crowd_join(u64 addr, u32 cost)
{
	u32 *crowd = &kpl_crowds[hash_64(addr, KPL_CROWDS_BITS)];
	int err = 0;

	spin_lock(&kpl_crowds_lock);
	if (cost > KPL_MAX_CROWD - *crowd)
		err = -E2BIG;
	else
		*crowd += cost;
	spin_unlock(&kpl_crowds_lock);
	return err;
}

void kpl_crowd_leave(u64 addr, u32 cost)
{
	spin_lock(&kpl_crowds_lock);
	kpl_crowds[hash_64(addr, KPL_CROWDS_BITS)] -= cost;
	spin_unlock(&kpl_crowds_lock);
}

/* The kernel decodes the function when a kprobe is registered: one that is never armed asks. */
int kpl_check_target(u64 addr)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)addr,
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err = kpl_check_place(addr, false);

	if (err)
		return err;
	err = register_kprobe(&kp);
	if (!err)
		unregister_kprobe(&kp);
	return err;
}

bool kpl_stays_with(u64 target, u64 addr)
{
	char of_target[KSYM_SYMBOL_LEN], of_addr[KSYM_SYMBOL_LEN];
	const char *target_module, *module;

	sprint_symbol(of_target, target);
	sprint_symbol(of_addr, addr);
	if (strstarts(of_target, "0x"))
		return false;	/* a module's that is gone */
	target_module = strchr(of_target, '[');
	module = strchr(of_addr, '[');
	if (!target_module)
		return true;
	if (!module || strcmp(target_module, module))
		return false;
	/* Another build of it may have come since the target was checked. */
	return (!kpl_is_starting(target) || kpl_is_starting(addr)) && !kpl_check_target(target);
}

/*
 * Of a system call without arguments, this is another name of its entry; of
 * others, a part of what the entry calls, which nobody has marked.
 */
static noinline_for_stack bool kpl_is_entry_too(const char *name, u64 addr)
{
	char entry[KSYM_NAME_LEN];
	struct kprobe kp = {
		.symbol_name = entry,
		.flags = KPROBE_FLAG_DISABLED,
	};
	u64 at;

	snprintf(entry, sizeof(entry), "__x64_sys_%s", name);
	if (register_kprobe(&kp))
		return false;
	at = (unsigned long)kp.addr;	/* may be behind a landing pad */
	unregister_kprobe(&kp);
	return at - addr <= KPL_LANDING_PAD || addr - at <= KPL_LANDING_PAD;
}

/* A lock that was not taken would be given back. */
noinline_for_stack int kpl_check_override(u64 addr, u32 *returns)
{
	char name[KSYM_SYMBOL_LEN], *module = "";

	sprint_symbol_no_offset(name, addr);
	if (kpl_is_cold(name))
		return -EDOM;
	if (strchr(name, '[')) {	/* "name [module]" */
		module = strchr(name, '[') + 1;
		module[strcspn(module, "]")] = '\0';
		name[strcspn(name, " ")] = '\0';
	}
	*returns = kpl_returns_of(name, module);
	if (strstarts(name, "__do_sys_") && !kpl_is_entry_too(name + strlen("__do_sys_"), addr))
		*returns = KPL_RETURNS_ANY;
	return in_lock_functions(addr) ? -EDEADLK : 0;
}
