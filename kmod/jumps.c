// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The jump of five bytes at an optimized kprobe may stand on several instructions.
 * The kernel looks for what leads to the later ones among the jumps that it can
 * decode in the same function, as they are now.  It misses those between the
 * function and a part that the compiler moved away ("name.cold"), and static keys,
 * which are nops until they are switched.  Process context.
 */
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include "compat.h"
#include "jumps.h"
#include "memory.h"
#include "place.h"

#ifdef CONFIG_OPTPROBES

#define KPL_JUMP	5	/* bytes */
#define KPL_NEAR	(64 << 20)	/* a function's parts lie closer together */
#define KPL_LARGEST	(256 << 10)	/* no function is as large; data may be */

/* Behind the first byte of the jump at `addr`. */
static bool kpl_is_behind(u64 target, u64 addr)
{
	return target - addr - 1 < KPL_JUMP - 1;
}

/* What counts: a jump from code in `from` to `target`. */
typedef bool (*kpl_jump_fn)(const struct kpl_span *from, u64 target, u64 addr);

/* Whatever they are a part of: any four bytes there may be the distance of a jump. */
static bool kpl_any_jump(const struct kpl_span *from, kpl_jump_fn counts, u64 addr)
{
	u64 at, end = from->begin + from->size;
	s32 distance;

	for (at = from->begin; at + sizeof(distance) <= end; at++)
		if (!kpl_peek(&distance, at, sizeof(distance)) ||
		    counts(from, at + sizeof(distance) + (s64)distance, addr))
			return true;
	return false;
}

static bool kpl_leads_behind(const struct kpl_span *from, u64 target, u64 addr)
{
	return kpl_is_behind(target, addr);
}

/*
 * Whether a jump there may go by a table: then nobody knows where to.  The kernel looks
 * for these in the function itself.  Any two bytes may be such a jump; there is none
 * where the compiler avoids what goes by a register.
 */
static bool kpl_any_table(const struct kpl_span *from)
{
	u8 text[2];
	u64 at, end = from->begin + from->size;

	if (IS_ENABLED(CONFIG_RETPOLINE) || IS_ENABLED(CONFIG_MITIGATION_RETPOLINE) ||
	    IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		return false;
	for (at = from->begin; at + sizeof(text) <= end; at++)
		if (!kpl_peek(text, at, sizeof(text)) ||
		    (text[0] == 0xff && (text[1] & 0x38) == 0x20))	/* jmp *(...) */
			return true;
	return false;
}

/* Into a part that was moved away, which jumps back to behind `addr`. */
static bool kpl_leads_back(const struct kpl_span *from, u64 target, u64 addr)
{
	struct kpl_span part;

	if (target - from->begin < from->size ||
	    target - from->begin + KPL_NEAR >= 2 * KPL_NEAR || !kpl_is_cold_at(target))
		return false;
	return !kpl_span_of(target, &part) || kpl_any_table(&part) ||
	       kpl_any_jump(&part, kpl_leads_behind, addr);
}

/* ------------------------------------------------------------------ static keys */

#ifdef CONFIG_JUMP_LABEL

static const struct jump_entry *kpl_keys_begin, *kpl_keys_end;

static struct module *kpl_no_module(unsigned long addr)
{
	return NULL;
}

DEFINE_STATIC_CALL(kpl_module_of, kpl_no_module);
static bool kpl_modules_known;

void kpl_jumps_init(void)
{
	unsigned long module_of = kpl_symbol("__module_address");

	kpl_keys_begin = (void *)kpl_symbol("__start___jump_table");
	kpl_keys_end = (void *)kpl_symbol("__stop___jump_table");
	kpl_modules_known = module_of;
	if (module_of)
		static_call_update(kpl_module_of, (typeof(&kpl_no_module))module_of);
}

static bool kpl_keys_jump_behind(const struct jump_entry *key, const struct jump_entry *end,
				 const struct kpl_span *span, u64 addr)
{
	for (; key < end; key++) {
		u64 target = jump_entry_target(key);

		if (kpl_is_behind(target, addr))
			return true;
		if (jump_entry_code(key) - span->begin < span->size &&
		    kpl_leads_back(span, target, addr))
			return true;
	}
	return false;
}

static bool kpl_modules_keys_jump_behind(const struct kpl_span *span, u64 addr)
{
	const struct module *mod;
	bool found = false;

	preempt_disable();
	mod = static_call(kpl_module_of)(addr);
	if (mod)
		found = kpl_keys_jump_behind(mod->jump_entries,
					     mod->jump_entries + mod->num_jump_entries, span, addr);
	preempt_enable();
	return found;
}

static bool kpl_any_key_jumps_behind(const struct kpl_span *span, u64 addr)
{
	return !kpl_keys_begin || !kpl_keys_end || !kpl_modules_known ||
	       kpl_keys_jump_behind(kpl_keys_begin, kpl_keys_end, span, addr) ||
	       kpl_modules_keys_jump_behind(span, addr);
}

#else

void kpl_jumps_init(void)
{
}

static bool kpl_any_key_jumps_behind(const struct kpl_span *span, u64 addr)
{
	return false;
}

#endif

/* -------------------------------------------------------------------- all of them */

/*
 * Moves what overlaps from its end.  A breakpoint's entry clears the direction
 * flag; what an optimized kprobe jumps to leaves it set for all that it calls.
 */
static noinline_for_stack bool kpl_runs_backwards(u64 addr)
{
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, addr);
	return !strcmp(name, "memmove") || !strcmp(name, "__memmove");
}

/* ftrace's nop or call, as long as the jump; or a breakpoint, while it changes them. */
static bool kpl_is_ftraces(u64 addr, const u8 *text)
{
	static const u8 nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	unsigned long site = addr;

	return !memcmp(text, nop, sizeof(nop)) || text[0] == 0xe8 ||
	       (text[0] == 0xcc && !kpl_sites_known(&site, 1));
}

bool kpl_may_optimize(u64 addr)
{
	struct kpl_span span;
	u8 text[KPL_JUMP];

	if (!kpl_span_of(addr, &span) || span.size > KPL_LARGEST ||
	    !kpl_peek(text, addr, sizeof(text)))
		return false;
	/* The kernel puts it behind. */
	if (addr == span.begin && kpl_is_landing_pad(text)) {
		addr += KPL_LANDING_PAD;
		if (!kpl_peek(text, addr, sizeof(text)))
			return false;
	}
	if (kpl_is_ftraces(addr, text))
		return true;
	/* Of a part that was moved away, it isn't known where the function is. */
	return !kpl_runs_backwards(addr) && !kpl_is_cold_at(addr) &&
	       !kpl_any_jump(&span, kpl_leads_back, addr) &&
	       !kpl_any_key_jumps_behind(&span, addr);
}

#else

void kpl_jumps_init(void)
{
}

bool kpl_may_optimize(u64 addr)
{
	return true;
}

#endif
