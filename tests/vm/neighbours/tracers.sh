# SPDX-License-Identifier: MIT
# limit: 900
# The function tracer, the graph tracer, kprobes and kretprobes of tracefs, beside our probes on the same function.
. "$KPL_ROOT/tests/vm/neighbours/orders.lib"
tracing=/sys/kernel/tracing
echo kpl_t_plain > $tracing/set_ftrace_filter 2> /dev/null || { target > /dev/null; echo kpl_t_plain > $tracing/set_ftrace_filter; }
trace() { echo > $tracing/trace; echo "$1" > $tracing/current_tracer; }
traced() { cp $tracing/trace traced && echo nop > $tracing/current_tracer; }

on_function() { trace function; }
off_function() { traced; }
seen_function() { grep -c 'kpl_t_plain <-' traced; }
on_graph() { trace function_graph; }
off_graph() { traced; }
seen_graph() { grep -c 'kpl_t_plain' traced; }

event() { echo > $tracing/trace; echo "$1" > $tracing/kprobe_events && echo 1 > $tracing/events/kprobes/kpl_test/enable; }
off_event() { cp $tracing/trace traced && echo 0 > $tracing/events/kprobes/kpl_test/enable && echo > $tracing/kprobe_events; }
seen_event() { grep -c 'kpl_test:' traced; }
on_kprobe() { event 'p:kpl_test kpl_t_plain'; }
off_kprobe() { off_event; }
seen_kprobe() { seen_event; }
on_kretprobe() { event 'r:kpl_test kpl_t_plain $retval'; }
off_kretprobe() { off_event; }
seen_kretprobe() { seen_event; }
orders function graph kprobe kretprobe
echo > $tracing/set_ftrace_filter
