# SPDX-License-Identifier: MIT
# limit: 900
# bpftrace's kprobes and kretprobes, beside our probes on the same function.
command -v bpftrace > /dev/null || skip 'no bpftrace'
. "$KPL_ROOT/tests/vm/neighbours/orders.lib"
. "$KPL_ROOT/tests/vm/neighbours/bpftrace.lib"
on_bpf_kprobe() { bpf 'kprobe:kpl_t_plain { @entry = count(); }'; }
off_bpf_kprobe() { bpf_off; }
seen_bpf_kprobe() { seen entry; }
on_bpf_kretprobe() { bpf 'kretprobe:kpl_t_plain { @ret = count(); }'; }
off_bpf_kretprobe() { bpf_off; }
seen_bpf_kretprobe() { seen ret; }
orders bpf_kprobe bpf_kretprobe
