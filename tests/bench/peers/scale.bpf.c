// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What ../scale.sh measures, in eBPF: counts by many keys, counts at many functions. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1 << 17);
	__type(key, __u64);
	__type(value, __u64);
} by_offset SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

/* The system call's fourth argument; the kernel's function takes what user space had in registers. */
SEC("fentry/__x64_sys_pread64") int fentry__keys(__u64 *ctx)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	__u64 offset = regs->r10, one = 1, *n = bpf_map_lookup_elem(&by_offset, &offset);

	if (n)
		(*n)++;
	else
		bpf_map_update_elem(&by_offset, &offset, &one, BPF_ANY);
	return 0;
}

static __always_inline int count(void)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&hits, &zero);

	if (n)
		(*n)++;
	return 0;
}

#define AT_MANY(section, name)	\
	SEC(section) int name##__functions(void *ctx) { return count(); }

AT_MANY("kprobe", kprobe)
AT_MANY("kretprobe", kretprobe)
AT_MANY("kprobe.multi", kprobe_multi)
AT_MANY("kretprobe.multi", kretprobe_multi)
