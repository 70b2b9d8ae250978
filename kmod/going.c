// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/pgtable.h>
#include <linux/spinlock.h>

#include "going.h"

struct kpl_text {
	unsigned long start, size;
};

/* Until other code comes to stand there; the oldest is overwritten. */
static struct kpl_text kpl_going[128];
static u32 kpl_going_nr;
static DEFINE_SPINLOCK(kpl_going_lock);

static struct kpl_text kpl_text_of(const struct module *mod, bool init)
{
#ifdef KPL_HAVE_MODULE_MEM
	const struct module_memory *part = &mod->mem[init ? MOD_INIT_TEXT : MOD_TEXT];

	return (struct kpl_text) { (unsigned long)part->base, part->size };
#else
	const struct module_layout *part = init ? &mod->init_layout : &mod->core_layout;

	return (struct kpl_text) { (unsigned long)part->base, part->text_size };
#endif
}

static void kpl_text_goes(struct kpl_text text)
{
	if (text.size)
		kpl_going[kpl_going_nr++ % ARRAY_SIZE(kpl_going)] = text;
}

static void kpl_text_comes(struct kpl_text text)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kpl_going); i++)
		if (kpl_going[i].start < text.start + text.size &&
		    text.start < kpl_going[i].start + kpl_going[i].size)
			kpl_going[i].size = 0;
}

/* A module that fails to start goes with its start-up code. */
static int kpl_going_module(struct notifier_block *nb, unsigned long state, void *mod)
{
	struct kpl_text text = kpl_text_of(mod, false), init = kpl_text_of(mod, true);

	spin_lock(&kpl_going_lock);
	if (state == MODULE_STATE_COMING) {
		kpl_text_comes(text);
		kpl_text_comes(init);
	}
	if (state == MODULE_STATE_GOING)
		kpl_text_goes(text);
	if (state == MODULE_STATE_GOING || state == MODULE_STATE_LIVE)
		kpl_text_goes(init);
	spin_unlock(&kpl_going_lock);
	return NOTIFY_DONE;
}

bool kpl_is_going(unsigned long addr)
{
	bool going = false;
	u32 i;

	if (addr < MODULES_VADDR || addr >= MODULES_END)
		return false;
	spin_lock(&kpl_going_lock);
	for (i = 0; i < ARRAY_SIZE(kpl_going); i++)
		going |= addr - kpl_going[i].start < kpl_going[i].size;
	spin_unlock(&kpl_going_lock);
	return going;
}

/* Before those that take probes away. */
static struct notifier_block kpl_going_modules = {
	.notifier_call = kpl_going_module,
	.priority = INT_MAX,
};

int kpl_going_init(void)
{
	return register_module_notifier(&kpl_going_modules);
}

void kpl_going_exit(void)
{
	unregister_module_notifier(&kpl_going_modules);
}
