// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the same jobs cost a module written by hand: kprobes, kretprobes and
 * ftrace on vfs_read(), a uprobe at `place` in `file`, with nothing around
 * them.  `job` chooses.
 */
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/namei.h>
#include <linux/percpu.h>
#include <linux/uprobes.h>
#include <linux/version.h>

static char *job = "";
module_param(job, charp, 0);
MODULE_PARM_DESC(job, "empty, count, offset, post, return, latency, ftrace or uprobe");
static char *file = "";
module_param(file, charp, 0);
static ulong place;
module_param(place, ulong, 0);

static DEFINE_PER_CPU(u64, hits);
static DEFINE_PER_CPU(u64 [65], slots);

static int on_empty(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static int on_count(struct kprobe *kp, struct pt_regs *regs)
{
	this_cpu_inc(hits);
	return 0;
}

static void on_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	this_cpu_inc(hits);
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	this_cpu_inc(hits);
	return 0;
}

static int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	*(u64 *)ri->data = ktime_get_mono_fast_ns();
	return 0;
}

static int on_latency(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	u64 ns = ktime_get_mono_fast_ns() - *(u64 *)ri->data;

	this_cpu_inc(slots[fls64(ns)]);
	return 0;
}

static void notrace on_trace(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			     struct ftrace_regs *regs)
{
	this_cpu_inc(hits);
}

static int on_uprobe(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	this_cpu_inc(hits);
	return 0;
}

static struct uprobe_consumer consumer = { .handler = on_uprobe };
static struct path path;
static struct kprobe kp = { .symbol_name = "vfs_read" };
static struct kretprobe rp = { .kp.symbol_name = "vfs_read", .maxactive = 64 };
static struct ftrace_ops ops = { .func = on_trace };

static bool is(const char *name)
{
	return !strcmp(job, name);
}

static int trace_start(void)
{
	int err = ftrace_set_filter(&ops, "vfs_read", strlen("vfs_read"), 1);

	return err ?: register_ftrace_function(&ops);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
static int user_register(struct inode *inode)
{
	return uprobe_register(inode, place, &consumer);
}

static void user_unregister(void)
{
	uprobe_unregister(d_real_inode(path.dentry), place, &consumer);
}
#else
static struct uprobe *uprobe;

static int user_register(struct inode *inode)
{
	uprobe = uprobe_register(inode, place, 0, &consumer);
	return PTR_ERR_OR_ZERO(uprobe);
}

static void user_unregister(void)
{
	uprobe_unregister_nosync(uprobe, &consumer);
	uprobe_unregister_sync();
}
#endif

static int user_start(void)
{
	int err = kern_path(file, LOOKUP_FOLLOW, &path);

	if (err)
		return err;
	err = user_register(d_real_inode(path.dentry));
	if (err)
		path_put(&path);
	return err;
}

static void user_stop(void)
{
	user_unregister();
	path_put(&path);
}

static int __init floor_init(void)
{
	if (is("ftrace"))
		return trace_start();
	if (is("uprobe"))
		return user_start();
	if (is("return") || is("latency")) {
		rp.handler = is("return") ? on_return : on_latency;
		rp.entry_handler = is("return") ? NULL : on_entry;
		rp.data_size = is("return") ? 0 : sizeof(u64);
		return register_kretprobe(&rp);
	}
	if (is("post"))
		kp.post_handler = on_post;
	else
		kp.pre_handler = is("empty") ? on_empty : on_count;
	kp.offset = is("offset") ? 9 : 0;
	return register_kprobe(&kp);
}

static void __exit floor_exit(void)
{
	if (is("ftrace"))
		unregister_ftrace_function(&ops);
	else if (is("uprobe"))
		user_stop();
	else if (rp.handler)
		unregister_kretprobe(&rp);
	else
		unregister_kprobe(&kp);
}

module_init(floor_init);
module_exit(floor_exit);
MODULE_DESCRIPTION("Hand-written probes, as a measure");
MODULE_LICENSE("Dual MIT/GPL");
