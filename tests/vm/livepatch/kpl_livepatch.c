// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A livepatch: kpl_t_plain() of kpl_target gives 1000 more than it would. */
#include <linux/errno.h>
#include <linux/livepatch.h>
#include <linux/module.h>

#ifdef CONFIG_LIVEPATCH
static long kpl_livepatch_plain(long a, long b, const char *name)
{
	return a + b + name[0] + 1000;
}

static struct klp_func funcs[] = {
	{ .old_name = "kpl_t_plain", .new_func = kpl_livepatch_plain },
	{ }
};

static struct klp_object objs[] = {
	{ .name = "kpl_target", .funcs = funcs },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objs };

static int __init kpl_livepatch_init(void)
{
	return klp_enable_patch(&patch);
}

MODULE_INFO(livepatch, "Y");
#else
static int __init kpl_livepatch_init(void)
{
	return -EOPNOTSUPP;
}
#endif

/* Unloaded once it is disabled. */
static void __exit kpl_livepatch_exit(void)
{
}

module_init(kpl_livepatch_init);
module_exit(kpl_livepatch_exit);

MODULE_DESCRIPTION("A livepatch for kprobe-lua's tests");
MODULE_LICENSE("Dual MIT/GPL");
