# SPDX-License-Identifier: MIT
# limit: 900
# perf counts a kprobe and a kretprobe, beside our probes on the same function.
command -v perf > /dev/null || skip 'no perf (package linux-perf)'
. "$KPL_ROOT/tests/vm/neighbours/orders.lib"
tracing=/sys/kernel/tracing
counts() { # EVENT
    echo "$1" > $tracing/kprobe_events || return
    rm -f stop
    perf stat -x , -o counted -a -e kprobes:kpl_test sh -c 'touch counting; until [ -e stop ]; do usleep 50000; done' < /dev/null &
    perf=$!
    until_true 'perf to count' [ -e counting ]
}
off_perf() {
    rm counting
    touch stop
    wait $perf && echo > $tracing/kprobe_events
}
seen_perf() { sed -n 's/^\([0-9]*\),.*kprobes:kpl_test.*/\1/p' counted; }
on_perf_entry() { counts 'p:kpl_test kpl_t_plain'; }
off_perf_entry() { off_perf; }
seen_perf_entry() { seen_perf; }
on_perf_return() { counts 'r:kpl_test kpl_t_plain $retval'; }
off_perf_return() { off_perf; }
seen_perf_return() { seen_perf; }
orders perf_entry perf_return
