// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/pgtable.h>
#include <linux/spinlock.h>

#include "going.h"

enum kpl_part_kind {
	KPL_PART_GOES,
	KPL_PART_STARTS,	/* of a module that comes up, and goes when it is up */
	KPL_PART_OF_CPUS,	/* goes; `start` is its distance from where a CPU's data begins */
};

struct kpl_part {
	unsigned long start, size;
	enum kpl_part_kind kind;
};

/* Until something else comes to stand there; when it is full, one by one is overwritten. */
static struct kpl_part kpl_parts[512];
static u32 kpl_parts_nr;
static DEFINE_SPINLOCK(kpl_parts_lock);

static void kpl_part_forget(struct kpl_part part)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kpl_parts); i++)
		if (kpl_parts[i].start < part.start + part.size &&
		    part.start < kpl_parts[i].start + kpl_parts[i].size)
			kpl_parts[i].size = 0;
}

static void kpl_part_note(struct kpl_part part)
{
	u32 i;

	if (!part.size)
		return;
	kpl_part_forget(part);
	for (i = 0; i < ARRAY_SIZE(kpl_parts) && kpl_parts[i].size; i++)
		;
	if (i == ARRAY_SIZE(kpl_parts))
		i = kpl_parts_nr++ % ARRAY_SIZE(kpl_parts);
	kpl_parts[i] = part;
}

/* Its start-up code and data, or all else of the module. */
static void kpl_parts_each(const struct module *mod, bool init, enum kpl_part_kind kind,
			   void (*what)(struct kpl_part part))
{
#ifdef KPL_HAVE_MODULE_MEM
	for_each_mod_mem_type(type) {
		const struct module_memory *mem = &mod->mem[type];

		if (mod_mem_type_is_init(type) == init)
			what((struct kpl_part) { (unsigned long)mem->base, mem->size, kind });
	}
#else
	const struct module_layout *mem = init ? &mod->init_layout : &mod->core_layout;

	what((struct kpl_part) { (unsigned long)mem->base, mem->size, kind });
#endif
}

static struct kpl_part kpl_cpus_part(const struct module *mod)
{
#ifdef CONFIG_SMP
	return (struct kpl_part) {
		(__force unsigned long)mod->percpu, mod->percpu_size, KPL_PART_OF_CPUS
	};
#else
	return (struct kpl_part) {};
#endif
}

/* A module that fails to start goes with its start-up code. */
static int kpl_going_module(struct notifier_block *nb, unsigned long state, void *mod)
{
	spin_lock(&kpl_parts_lock);
	if (state == MODULE_STATE_COMING) {
		kpl_parts_each(mod, false, KPL_PART_GOES, kpl_part_forget);
		kpl_part_forget(kpl_cpus_part(mod));
		kpl_parts_each(mod, true, KPL_PART_STARTS, kpl_part_note);
	}
	if (state == MODULE_STATE_GOING) {
		kpl_parts_each(mod, false, KPL_PART_GOES, kpl_part_note);
		kpl_part_note(kpl_cpus_part(mod));
	}
	if (state == MODULE_STATE_GOING || state == MODULE_STATE_LIVE)
		kpl_parts_each(mod, true, KPL_PART_GOES, kpl_part_note);
	spin_unlock(&kpl_parts_lock);
	return NOTIFY_DONE;
}

static bool kpl_is_in_part(unsigned long addr, enum kpl_part_kind kind)
{
	bool found = false;
	u32 i;

	spin_lock(&kpl_parts_lock);
	for (i = 0; i < ARRAY_SIZE(kpl_parts); i++)
		found |= kpl_parts[i].kind == kind &&
			 addr - kpl_parts[i].start < kpl_parts[i].size;
	spin_unlock(&kpl_parts_lock);
	return found;
}

static bool kpl_is_a_modules(unsigned long addr)
{
	return addr >= MODULES_VADDR && addr < MODULES_END;
}

bool kpl_is_going(unsigned long addr)
{
	return kpl_is_a_modules(addr) && kpl_is_in_part(addr, KPL_PART_GOES);
}

bool kpl_is_cpus_data_going(unsigned long addr)
{
#ifdef CONFIG_SMP
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (kpl_is_in_part(addr - per_cpu_offset(cpu), KPL_PART_OF_CPUS))
			return true;
#endif
	return false;
}

bool kpl_is_starting(unsigned long addr)
{
	return kpl_is_a_modules(addr) && kpl_is_in_part(addr, KPL_PART_STARTS);
}

static struct notifier_block kpl_going_modules = {
	.notifier_call = kpl_going_module,
	.priority = KPL_MODULES_KNOWN,
};

int kpl_going_init(void)
{
	return register_module_notifier(&kpl_going_modules);
}

void kpl_going_exit(void)
{
	unregister_module_notifier(&kpl_going_modules);
}
