# SPDX-License-Identifier: MIT
# limit: 900
# The uprobes, uretprobes and events of tracefs, beside our probes at the same place.
. "$KPL_ROOT/tests/vm/neighbours/orders.lib"
tracing=/sys/kernel/tracing
target > /dev/null
program=$(readlink -f "$(command -v uprobed)")
# the linker puts this program's code at the address that is its offset in the file
place=$program:$(kprobe-lua -f json list uprobes uprobed:add | sed 's/.*"address":"\(0x[0-9a-f]*\)".*/\1/')
on() { echo > $tracing/trace; echo 1 > "$tracing/events/$1/enable"; }
off() { cp $tracing/trace traced && echo 0 > "$tracing/events/$1/enable"; }

on_uprobe() { echo "p:kpl_test/add $place" > $tracing/uprobe_events && on kpl_test/add; }
off_uprobe() { off kpl_test/add && echo > $tracing/uprobe_events; }
seen_uprobe() { grep -c ' add: ' traced; }
on_uretprobe() { echo "r:kpl_test/add $place \$retval" > $tracing/uprobe_events && on kpl_test/add; }
off_uretprobe() { off_uprobe; }
seen_uretprobe() { seen_uprobe; }
call() { uprobed add "$1" > /dev/null; }
ours='uprobe uretprobe'
orders uprobe uretprobe

on_event() { on kpl_target/kpl_t_twelve; }
off_event() { off kpl_target/kpl_t_twelve; }
seen_event() { grep -c ' kpl_t_twelve: ' traced; }
call() { target twelve "$1" > /dev/null; }
ours=tracepoint
orders event
