// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Places in the kernel's code: its own rules, and those that it lacks.  Process context. */
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/spinlock.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "compat.h"
#include "core/core.h"
#include "going.h"
#include "memory.h"
#include "place.h"

/* "name.cold": the compiler moved this part of a function away, and it is jumped to. */
static bool kpl_is_cold(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (!cold[5] || cold[5] == '.' || cold[5] == ' ');
}

noinline_for_stack bool kpl_is_cold_at(u64 addr)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, addr);
	return kpl_is_cold(name);
}

noinline_for_stack bool kpl_span_of(u64 addr, struct kpl_span *span)
{
	char text[KSYM_SYMBOL_LEN];	/* "name+0x24/0x7b", and "[module]" */
	unsigned long offset, size;
	const char *place;

	sprint_symbol(text, addr);
	place = strrchr(text, '+');
	if (!place || sscanf(place, "+0x%lx/0x%lx", &offset, &size) != 2)
		return false;
	*span = (struct kpl_span) { addr - offset, size };
	return true;
}

/* Kprobes puts it behind a landing pad: a function's own address is before. */
static unsigned long kpl_before_pad(unsigned long addr)
{
	u8 text[KPL_LANDING_PAD];
	struct kpl_span span;

	if (addr && kpl_span_of(addr, &span) && span.begin == addr - KPL_LANDING_PAD &&
	    kpl_peek(text, span.begin, sizeof(text)) && kpl_is_landing_pad(text))
		return span.begin;
	return addr;
}

bool kpl_shows_jump(const struct kprobe *kp)
{
	u8 opcode;

	return IS_ENABLED(CONFIG_OPTPROBES) && IS_ENABLED(CONFIG_X86) &&
	       !copy_from_kernel_nofault(&opcode, kp->addr, 1) && opcode == 0xe9;
}

static struct kprobe *kpl_no_kprobe(void *addr)
{
	return NULL;
}

DEFINE_STATIC_CALL(kpl_kprobe_at, kpl_no_kprobe);

bool kpl_place_is(const struct kprobe *kp, bool enabled)
{
	struct kprobe *there;
	bool is;

	preempt_disable();
	there = static_call(kpl_kprobe_at)(kp->addr);
	is = there && !kprobe_disabled(there) == enabled;
	preempt_enable();
	return is;
}

static int kpl_nothing_before(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static void kpl_nothing_behind(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

bool kpl_kprobe_pass_on(struct kprobe *kp)
{
	if (kprobe_ftrace(kp) || !kprobe_disabled(kp) || !kpl_place_is(kp, true))
		return false;
	/* Who is in a hit still may call them. */
	WRITE_ONCE(kp->pre_handler, kpl_nothing_before);
	if (kp->post_handler)
		WRITE_ONCE(kp->post_handler, kpl_nothing_behind);
	if (!enable_kprobe(kp))
		disable_kprobe(kp);
	return true;
}

/* The kernel waits only where it takes a jump back by itself, and not for a post handler. */
void kpl_kprobe_unregister(struct kprobe *kp)
{
	if (kpl_kprobe_pass_on(kp) && kp->post_handler)
		synchronize_rcu_tasks();
	unregister_kprobe(kp);
}

/* The kernel tells where it is even if it then refuses a kprobe there. */
unsigned long kpl_symbol(const char *name)
{
	struct kprobe kp = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};

	if (!register_kprobe(&kp))
		kpl_kprobe_unregister(&kp);
	else if (!kp.addr)
		pr_warn("kprobe_lua: can't find %s\n", name);
	return kpl_before_pad((unsigned long)kp.addr);
}

/* As long as nobody can say: all of it is refused. */
static const struct exception_table_entry *kpl_any_fixup(unsigned long addr)
{
	static const struct exception_table_entry any;

	return &any;
}

DEFINE_STATIC_CALL(kpl_fixup_of, kpl_any_fixup);

/*
 * The kernel does not export them.  A static call is direct: it needs no landing
 * pad, which may be sealed.
 */
void kpl_place_init(void)
{
	unsigned long kprobe_at = kpl_symbol("get_kprobe");
	unsigned long fixup_of;

	if (kprobe_at)
		static_call_update(kpl_kprobe_at, (typeof(&kpl_no_kprobe))kprobe_at);
	fixup_of = kpl_symbol("search_exception_tables");
	if (fixup_of)
		static_call_update(kpl_fixup_of, (typeof(&kpl_any_fixup))fixup_of);
}

enum kpl_rule {
#define RULE(rule, which, why)		KPL_RULE_##rule,
#define PLACE(rule, match, name)
#include "uapi/places.def"
#undef RULE
#undef PLACE
};

/* Each with what those before it refuse. */
enum kpl_which { KPL_OF_RETURNS, KPL_OF_PROBES, KPL_OF_ALL };
enum { KPL_MATCH_WHOLE, KPL_MATCH_BEGINS };

static const u8 kpl_rule_of[] = {
#define RULE(rule, which, why)		[KPL_RULE_##rule] = KPL_OF_##which,
#define PLACE(rule, match, name)
#include "uapi/places.def"
#undef RULE
#undef PLACE
};

static const struct kpl_named_place {
	u8 rule, match;
	const char *name;
} kpl_named_places[] = {
#define RULE(rule, which, why)
#define PLACE(rule, match, name)	{ KPL_RULE_##rule, KPL_MATCH_##match, name },
#include "uapi/places.def"
#undef RULE
#undef PLACE
};

/* Whether a row names this function whose rule refuses `which`. */
static bool kpl_is_named(const char *name, enum kpl_which which)
{
	size_t own = strcspn(name, ". ");	/* without what the compiler added, "[module]" */
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kpl_named_places); i++) {
		const struct kpl_named_place *place = &kpl_named_places[i];

		if (kpl_rule_of[place->rule] >= which && strstarts(name, place->name) &&
		    (place->match == KPL_MATCH_BEGINS || strlen(place->name) == own))
			return true;
	}
	return false;
}

#ifdef CONFIG_X86

static const u8 *kpl_behind_prefixes(const u8 *insn)
{
	static const u8 prefixes[] = {
		0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
	};
	const u8 *end = insn + MAX_INSN_SIZE - 1;

	while (insn < end && (memchr(prefixes, *insn, sizeof(prefixes)) || (*insn & 0xf0) == 0x40))
		insn++;
	return insn;
}

/* "hlt" or "mwait" */
static bool kpl_waits(const u8 *opcode)
{
	return opcode[0] == 0xf4 || (opcode[0] == 0x0f && opcode[1] == 0x01 && opcode[2] == 0xc9);
}

/*
 * By the kernel's copy, without what other probes have put there.
 *
 * While it has one CPU, the kernel puts another prefix in the place of "lock",
 * and looks for that one when the second comes: behind a breakpoint it would
 * stay, for good.  And kprobes would step what waits for an interrupt with
 * interrupts off, and emulates some as what they are not: "sti" before a wait,
 * without what holds interrupts back until then, far returns and those with an
 * operand as plain ones, "loop" with one turn too many.
 */
static bool kpl_is_mishandled(const struct kprobe *kp)
{
	u8 insn[MAX_INSN_SIZE + 2] = {}, next[MAX_INSN_SIZE + 2] = {};
	const u8 *opcode;

	if (!kp->ainsn.insn)	/* ftrace serves it */
		return false;
	memcpy(insn, kp->ainsn.insn, kp->ainsn.size);
	opcode = kpl_behind_prefixes(insn);
	if (insn[0] == 0x3e || kpl_waits(opcode))
		return true;
	switch (*opcode) {
	case 0xc2: case 0xca: case 0xcb:	/* ret with an operand, far ret */
	case 0xe0: case 0xe1: case 0xe2:	/* loop */
		return true;
	case 0xfb:				/* sti */
		return kpl_peek(next, (unsigned long)kp->addr + kp->ainsn.size, MAX_INSN_SIZE) &&
		       kpl_waits(kpl_behind_prefixes(next));
	}
	return false;
}

#else

static bool kpl_is_mishandled(const struct kprobe *kp)
{
	return false;
}

#endif

#ifdef CONFIG_DYNAMIC_FTRACE
/* An ops that is never registered is asked. */
noinline_for_stack int kpl_sites_known(unsigned long *sites, u32 nr)
{
	struct ftrace_ops ops = {};
	int err = ftrace_set_filter_ips(&ops, sites, nr, 0, 1);

	ftrace_free_filter(&ops);
	return err;
}
#else
int kpl_sites_known(unsigned long *sites, u32 nr)
{
	return -EINVAL;
}
#endif

/* Neither this instruction nor, where a function begins here, its entry; or nobody can say. */
static bool kpl_is_no_site(u64 addr)
{
	unsigned long site = addr;

	return kpl_sites_known(&site, 1);
}

noinline_for_stack bool kpl_may_be_label(u64 addr)
{
	char name[KSYM_SYMBOL_LEN];	/* "name [module]" */

	sprint_symbol_no_offset(name, addr);
	return strchr(name, '[') && !within_module(addr, THIS_MODULE) && kpl_is_no_site(addr);
}

/*
 * To see whether a breakpoint may become a jump, the kernel decodes all of its
 * function, and what fills a module's last page behind its last function: over the
 * end of that page, which may be the last that is mapped.
 */
static bool kpl_is_read_over(u64 addr)
{
	struct kpl_span span;
	u8 behind;

	return IS_ENABLED(CONFIG_OPTPROBES) && kpl_span_of(addr, &span) &&
	       !kpl_peek(&behind, span.begin + span.size, sizeof(behind)) &&
	       kpl_is_no_site(addr);
}

/*
 * What the kernel's table of exceptions makes good (as on arm64): while it is
 * stepped, it is looked for where the copy lies, unless the fault is one of a
 * page.  Any process could bring that about: by a signal frame whose registers
 * are none, say.
 *
 * Return probes on what is jumped to and not called: on the stack lies something
 * else than the way back.  The kernel asks for a symbol's beginning alone.
 */
noinline_for_stack int kpl_check_place(u64 addr, bool returns)
{
	char name[KSYM_SYMBOL_LEN];

	if (static_call(kpl_fixup_of)(addr) || kpl_is_read_over(addr))
		return -EINVAL;
	sprint_symbol_no_offset(name, addr);
	if (kpl_is_named(name, returns ? KPL_OF_RETURNS : KPL_OF_PROBES) ||
	    (returns && kpl_is_cold(name)))
		return -EINVAL;
	return 0;
}

/* The kernel may have moved it behind a landing pad. */
noinline_for_stack int kpl_check_registered(const struct kprobe *kp)
{
	if (kpl_is_going((unsigned long)kp->addr))
		return -ENOENT;
	if (static_call(kpl_fixup_of)((unsigned long)kp->addr) || kpl_is_mishandled(kp))
		return -EINVAL;
	return 0;
}

noinline_for_stack int kpl_check_site(u64 addr)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, addr);
	return kpl_is_named(name, KPL_OF_ALL) ? -EINVAL : 0;
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
	if (err)
		return err;
	err = kpl_check_registered(&kp);
	kpl_kprobe_unregister(&kp);
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
	kpl_kprobe_unregister(&kp);
	return at - addr <= KPL_LANDING_PAD || addr - at <= KPL_LANDING_PAD;
}

/* A lock that was not taken would be given back. */
noinline_for_stack int kpl_check_override(u64 addr, u32 *returns)
{
	char name[KSYM_SYMBOL_LEN], *module = "";

	sprint_symbol_no_offset(name, addr);
	if (kpl_is_cold(name) || kpl_may_be_label(addr))
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
