// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The device: open, ioctl, poll and mmap of /dev/kprobe-lua. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "area.h"
#include "bench.h"
#include "change.h"
#include "control.h"
#include "direct.h"
#include "dry.h"
#include "event.h"
#include "ftrace.h"
#include "going.h"
#include "grow.h"
#include "guard.h"
#include "jumps.h"
#include "kretprobe.h"
#include "life.h"
#include "map.h"
#include "memory.h"
#include "native.h"
#include "oops.h"
#include "overload.h"
#include "place.h"
#include "probe.h"
#include "prog.h"
#include "reader.h"
#include "ring.h"
#include "session.h"
#include "stats.h"
#include "tracepoint.h"
#include "wake.h"

/* Every argument structure of an ioctl: they are small and copied as a whole. */
union kpl_param {
	struct kpl_info info;
	struct kpl_ring_setup ring_setup;
	struct kpl_ring_spare ring_spare;
	struct kpl_ring_offer ring_offer;
	struct kpl_map_create map_create;
	struct kpl_map_clear map_clear;
	struct kpl_map_info map_info;
	struct kpl_map_op map_op;
	struct kpl_prog_load prog_load;
	struct kpl_prog_run prog_run;
	struct kpl_prog_sites prog_sites;
	struct kpl_attach_batch attach;
	struct kpl_control control;
	struct kpl_stats stats;
	struct kpl_pid pid;
	struct kpl_prog_native prog_native;
	struct kpl_free free;
	struct kpl_share share;
	struct kpl_title title;
	struct kpl_rights rights;
	struct kpl_bench bench;
};

/* The result is copied back whatever it says. */
#define IOCTL(nr, name, flags)							\
	static int kpl_do_##name(struct kpl_session *s, union kpl_param *arg)		\
	{										\
		return kpl_##name(s, &arg->name);					\
	}
#include "ioctls.def"
#undef IOCTL

#define LOCKED	1u
#define GOES_ON	2u
#define UNCHECKED 0u	/* for the tests */

static const struct kpl_ioctl {
	unsigned int cmd, flags;
	int (*fn)(struct kpl_session *s, union kpl_param *arg);
} kpl_ioctls[] = {
#define IOCTL(nr, name, flags)							\
	[_IOC_NR(KPL_IOC_##nr)] = { KPL_IOC_##nr, flags, kpl_do_##name },
#include "ioctls.def"
#undef IOCTL
};

static int kpl_permit(const struct kpl_session *s, bool probing)
{
	int err = kpl_capable();

	if (!err && probing)
		err = kpl_probing_allowed();
	if (err)
		return err;
	return kpl_is_opener(s) ? 0 : -EXDEV;
}

static int kpl_call(struct kpl_session *s, const struct kpl_ioctl *call, union kpl_param *arg)
{
	int err = kpl_permit(s, !(call->flags & GOES_ON));

	if (err)
		return err;
	WRITE_ONCE(s->heard, jiffies);	/* kpl_session_info(), kpl_session_unlock() */
	kpl_overloaded_first(s);
	if (!(call->flags & LOCKED))
		return READ_ONCE(s->closing) ? -ESHUTDOWN : call->fn(s, arg);
	err = kpl_session_lock(s);
	if (err)
		return err;
	err = call->fn(s, arg);
	kpl_session_unlock(s);
	return err;
}

static long kpl_ioctl(struct file *file, unsigned int cmd, unsigned long ptr)
{
	struct kpl_session *s = file->private_data;
	void __user *user = (void __user *)ptr;
	unsigned int nr = _IOC_NR(cmd);
	union kpl_param arg;
	int err;

	if (cmd == KPL_IOC_INFO) {
		kpl_session_info(s, &arg.info);
		return copy_to_user(user, &arg.info, sizeof(arg.info)) ? -EFAULT : 0;
	}
	if (nr >= ARRAY_SIZE(kpl_ioctls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(kpl_ioctls));
	if (!kpl_ioctls[nr].fn || kpl_ioctls[nr].cmd != cmd)
		return -ENOTTY;
	if (copy_from_user(&arg, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	err = kpl_call(s, &kpl_ioctls[nr], &arg);
	if ((_IOC_DIR(cmd) & _IOC_READ) && copy_to_user(user, &arg, _IOC_SIZE(cmd)))
		return -EFAULT;
	return err;
}

static int kpl_open(struct inode *inode, struct file *file)
{
	struct kpl_session *s;
	int err = kpl_capable() ?: kpl_probing_allowed();

	if (err)
		return err;
	s = kpl_session_open();
	if (IS_ERR(s))
		return PTR_ERR(s);
	file->private_data = s;
	return stream_open(inode, file);
}

/*
 * Called at each close() of a descriptor, those at exit included: the opener's ends the session.
 * A table of descriptors that is not the caller's is the copy for a child that fork(2) could not
 * make, or what unshare(2) leaves: the opener's stays open.  So it does when a thread with a table
 * of its own exits: there are others.
 */
static int kpl_flush(struct file *file, fl_owner_t id)
{
	struct kpl_session *s = file->private_data;
	bool copy = id != current->files &&
		    (current->files || atomic_read(&current->signal->live));

	if (kpl_is_opener(s) && !copy)
		kpl_session_close(s);
	return 0;
}

static int kpl_release(struct inode *inode, struct file *file)
{
	kpl_session_release(file->private_data);
	return 0;
}

static __poll_t kpl_poll(struct file *file, poll_table *table)
{
	return kpl_session_poll(file->private_data, file, table);
}

static int kpl_mmap(struct file *file, struct vm_area_struct *vma)
{
	return kpl_permit(file->private_data, true) ?: kpl_session_mmap(file->private_data, vma);
}

static const struct file_operations kpl_fops = {
	.owner = THIS_MODULE,	/* no unloading while a session lives */
	.open = kpl_open,
	.flush = kpl_flush,
	.release = kpl_release,
	.unlocked_ioctl = kpl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = kpl_poll,
	.mmap = kpl_mmap,
};

static struct miscdevice kpl_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kprobe-lua",
	.fops = &kpl_fops,
	.mode = 0600,
};

static int __init kpl_module_init(void)
{
	int err;

	kpl_memory_init();
	kpl_guard_init();
	kpl_native_init();
	kpl_place_init();
	kpl_jumps_init();
	err = kpl_session_init();
	if (err)
		return err;
	err = kpl_area_init();
	if (err)
		goto fail_area;
	err = kpl_grow_init();
	if (err)
		goto fail_grow;
	err = kpl_going_init();
	if (err)
		goto fail_going;
	err = kpl_ftrace_init();
	if (err)
		goto fail_ftrace;
	err = kpl_direct_init();
	if (err)
		goto fail_direct;
	err = kpl_tracepoint_init();
	if (err)
		goto fail_tracepoint;
	err = kpl_event_init();
	if (err)
		goto fail_event;
	err = kpl_wake_init();
	if (err)
		goto fail_wake;
	err = kpl_life_init();
	if (err)
		goto fail_life;
	err = misc_register(&kpl_device);
	if (err)
		goto fail_device;
	kpl_oops_init();
	return 0;

fail_device:
	kpl_life_exit();
fail_life:
	kpl_wake_exit();
fail_wake:
	kpl_event_exit();
fail_event:
	kpl_tracepoint_exit();
fail_tracepoint:
	kpl_direct_exit();
fail_direct:
	kpl_ftrace_exit();
fail_ftrace:
	kpl_going_exit();
fail_going:
	kpl_grow_exit();
fail_grow:
	kpl_area_exit();
fail_area:
	kpl_session_exit();
	return err;
}

static void __exit kpl_module_exit(void)
{
	kpl_oops_exit();
	misc_deregister(&kpl_device);
	kpl_life_exit();
	kpl_wake_exit();
	kpl_event_exit();
	kpl_tracepoint_exit();
	kpl_direct_exit();
	kpl_ftrace_exit();
	kpl_going_exit();
	kpl_grow_exit();
	kpl_change_exit();
	kpl_kretprobe_exit();
	kpl_area_exit();
	kpl_session_exit();
}

module_init(kpl_module_init);
module_exit(kpl_module_exit);

MODULE_DESCRIPTION("Runs verified probe handlers of kprobe-lua");
MODULE_LICENSE("Dual MIT/GPL");
