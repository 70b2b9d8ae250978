// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The jobs of ../jobs as hand-written eBPF, as fast as we know to write them, on
 * the program types that compete: kprobe and kretprobe, fentry and fexit, raw
 * tracepoint, uprobe.  A program is called KIND__JOB, or KIND__JOB__PART where a
 * job takes several.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

/* ------------------------------------------------------ what is looked at of the kernel */

#define CO_RE __attribute__((preserve_access_index))

struct qstr {
	const unsigned char *name;
} CO_RE;

struct dentry {
	struct qstr d_name;
} CO_RE;

struct path {
	struct dentry *dentry;
} CO_RE;

struct super_block {
	unsigned int s_dev;
} CO_RE;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
} CO_RE;

struct file {
	struct path f_path;
	struct inode *f_inode;
} CO_RE;

/* -------------------------------------------------------------------------------- maps */

#define KEYS 10240

struct comm {
	char text[16];
};

struct short_name {
	char text[32];
};

struct name {
	char text[256];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct name);
} scratch SEC(".maps");

#define COUNTS_BY(what, key_type)				\
	struct {						\
		__uint(type, BPF_MAP_TYPE_PERCPU_HASH);		\
		__uint(max_entries, KEYS);			\
		__type(key, key_type);				\
		__type(value, __u64);				\
	} what SEC(".maps")

COUNTS_BY(by_pid, __u32);
COUNTS_BY(by_comm, struct comm);
COUNTS_BY(by_short_name, struct short_name);
COUNTS_BY(by_name, struct name);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KEYS);
	__type(key, __u32);
	__type(value, __u64);
} since SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 << 20);
} events SEC(".maps");

/* -------------------------------------------------------------------------------- jobs */

static __always_inline int count_in(__u32 slot)
{
	__u64 *n = bpf_map_lookup_elem(&slots, &slot);

	if (n)
		(*n)++;
	return 0;
}

static __always_inline int count(void)
{
	return count_in(0);
}

static __always_inline int count_by(void *map, const void *key)
{
	__u64 *n = bpf_map_lookup_elem(map, key), one = 1;

	if (n)
		(*n)++;
	else
		bpf_map_update_elem(map, key, &one, BPF_ANY);
	return 0;
}

static __always_inline int count_by_pid(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	return count_by(&by_pid, &pid);
}

static __always_inline int count_by_comm(void)
{
	struct comm key;

	bpf_get_current_comm(&key, sizeof(key));
	return count_by(&by_comm, &key);
}

static __always_inline int count_by_short_name(const unsigned char *name)
{
	struct short_name key = {};

	bpf_probe_read_kernel_str(&key, sizeof(key), name);
	return count_by(&by_short_name, &key);
}

/* What an earlier, longer name left behind the end is not cleared: all are as long here. */
static __always_inline int count_by_name(const unsigned char *name)
{
	__u32 zero = 0;
	struct name *key = bpf_map_lookup_elem(&scratch, &zero);

	if (!key)
		return 0;
	bpf_probe_read_kernel_str(key, sizeof(*key), name);
	return count_by(&by_name, key);
}

static __always_inline int filtered(void)
{
	return bpf_get_current_pid_tgid() >> 32 == 1 ? count() : 0;
}

static __always_inline int begin(void)
{
	__u32 tid = bpf_get_current_pid_tgid();
	__u64 now = bpf_ktime_get_ns();

	bpf_map_update_elem(&since, &tid, &now, BPF_ANY);
	return 0;
}

static __always_inline int end(void)
{
	__u32 tid = bpf_get_current_pid_tgid(), slot = 0;
	__u64 *at = bpf_map_lookup_elem(&since, &tid), ns;

	if (!at)
		return 0;
	ns = bpf_ktime_get_ns() - *at;
#pragma unroll
	for (int shift = 32; shift; shift /= 2) {
		if (ns >> shift) {
			ns >>= shift;
			slot += shift;
		}
	}
	bpf_map_delete_elem(&since, &tid);
	return count_in(slot);
}

struct event {
	__u64 time;
	__u32 pid;
	struct comm comm;
};

static __always_inline int event(void)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->time = bpf_ktime_get_ns();
	e->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(&e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, 0);
	return 0;
}

struct event_name {
	__u64 time;
	__u32 pid;
	struct short_name name;
};

static __always_inline int event_name(const unsigned char *name)
{
	struct event_name *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e)
		return 0;
	e->time = bpf_ktime_get_ns();
	e->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_probe_read_kernel_str(&e->name, sizeof(e->name), name);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

/* ---------------------------------------------------------------------------- programs */

#define ON(section, name, ...)		\
	SEC(section) int name(void *ctx) { return __VA_ARGS__; }

/* By kprobe memory is read by a helper, by fentry as the verifier knows its types. */
static __always_inline struct file *kprobe_file(const struct pt_regs *regs)
{
	return (struct file *)PT_REGS_PARM1(regs);
}

#define FENTRY_FILE ((struct file *)*(__u64 *)ctx)
#define KPROBE_NAME kprobe_name(ctx)
#define FENTRY_NAME (FENTRY_FILE->f_path.dentry->d_name.name)

static __always_inline const unsigned char *kprobe_name(const struct pt_regs *regs)
{
	struct file *file = kprobe_file(regs);

	return BPF_CORE_READ(file, f_path.dentry, d_name.name);
}

static __always_inline int kprobe_follow(const struct pt_regs *regs)
{
	struct file *file = kprobe_file(regs);

	return BPF_CORE_READ(file, f_inode, i_ino) ? count() : 0;
}

static __always_inline int kprobe_follow_three(const struct pt_regs *regs)
{
	struct file *file = kprobe_file(regs);

	return BPF_CORE_READ(file, f_inode, i_sb, s_dev) ? count() : 0;
}

#define ON_READ(job, kprobe_does, fentry_does)				\
	ON("kprobe/vfs_read", kprobe__##job, kprobe_does)		\
	ON("fentry/vfs_read", fentry__##job, fentry_does)

ON_READ(count_at_entry, count(), count())
ON_READ(count_by_pid, count_by_pid(), count_by_pid())
ON_READ(count_by_comm, count_by_comm(), count_by_comm())
ON_READ(count_by_name, count_by_name(KPROBE_NAME), count_by_name(FENTRY_NAME))
ON_READ(count_by_short_name, count_by_short_name(KPROBE_NAME), count_by_short_name(FENTRY_NAME))
ON_READ(filtered, filtered(), filtered())
ON_READ(follow_pointers, kprobe_follow(ctx),
	FENTRY_FILE->f_inode->i_ino ? count() : 0)
ON_READ(three_pointers, kprobe_follow_three(ctx),
	FENTRY_FILE->f_inode->i_sb->s_dev ? count() : 0)
ON_READ(event_produced, event(), event())
ON_READ(event_name_produced, event_name(KPROBE_NAME), event_name(FENTRY_NAME))
ON_READ(latency_histogram, begin(), begin())

ON("kretprobe/vfs_read", kprobe__latency_histogram__ret, end())
ON("fexit/vfs_read", fentry__latency_histogram__ret, end())
ON("kretprobe/vfs_read", kprobe__count_at_return, count())
ON("fexit/vfs_read", fentry__count_at_return, count())

#define EIGHT(slot) ON_READ(eight_probes__##slot, count_in(slot), count_in(slot))
EIGHT(0)
EIGHT(1)
EIGHT(2)
EIGHT(3)
EIGHT(4)
EIGHT(5)
EIGHT(6)
EIGHT(7)

ON("raw_tp/sys_enter", raw_tp__tracepoint_count, count())
ON("raw_tp/sys_enter", raw_tp__tracepoint_arguments, ((__u64 *)ctx)[1] == 0 ? count() : 0)

ON("kprobe/__x64_sys_read", kprobe__syscall_entry, count())
ON("fentry/__x64_sys_read", fentry__syscall_entry, count())
ON("kprobe/__x64_sys_read", kprobe__syscall_latency, begin())
ON("kretprobe/__x64_sys_read", kprobe__syscall_latency__ret, end())
ON("fentry/__x64_sys_read", fentry__syscall_latency, begin())
ON("fexit/__x64_sys_read", fentry__syscall_latency__ret, end())

ON("uprobe", uprobe__count_at_mark, count())
