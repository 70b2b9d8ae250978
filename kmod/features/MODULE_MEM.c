// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A module's memory is a list of parts, by what they are for (6.4). */
#include <linux/module.h>

void *kpl_try(const struct module *mod);
void *kpl_try(const struct module *mod)
{
	return mod->mem[MOD_TEXT].base;
}
