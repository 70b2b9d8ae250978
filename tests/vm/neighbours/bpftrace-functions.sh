# SPDX-License-Identifier: MIT
# limit: 900
# bpftrace's kfuncs and kretfuncs, which call by a trampoline of BPF, beside our probes on the same function.
command -v bpftrace > /dev/null || skip 'no bpftrace'
. "$KPL_ROOT/tests/vm/neighbours/orders.lib"
. "$KPL_ROOT/tests/vm/neighbours/bpftrace.lib"
why='^ERROR: Error attaching probe: k(ret)?func' # for what reason, it does not say
on_bpf_kfunc() { bpf 'kfunc:kpl_target:kpl_t_plain { @entry = count(); }'; }
off_bpf_kfunc() { bpf_off; }
seen_bpf_kfunc() { seen entry; }
on_bpf_kretfunc() { bpf 'kretfunc:kpl_target:kpl_t_plain { @ret = count(); }'; }
off_bpf_kretfunc() { bpf_off; }
seen_bpf_kretfunc() { seen ret; }
orders bpf_kfunc bpf_kretfunc
