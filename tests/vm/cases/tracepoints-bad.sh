# SPDX-License-Identifier: MIT
# What is wrong with a tracepoint is said in words that help; tracefs is not needed for a name.
refuses "no tracepoint 'sched:sched_swich' in this kernel; near to it: sched:sched_switch" 'tracepoint("sched:sched_swich", function() end)'
refuses "no tracepoint 'irq:sched_switch' in this kernel; near to it: sched:sched_switch$" 'tracepoint("irq:sched_switch", function() end)'
refuses "no tracepoint 'sched:no_such_\*' in this kernel$" 'tracepoint("sched:no_such_*", function() end)'
refuses "the probed tracepoint has no parameter 'prev_pid'.*it is sched_switch\(bool preempt, struct task_struct \*prev, struct task_struct \*next" \
    'tracepoint("sched:sched_switch", function(p) print(p.args.prev_pid) end)'
refuses "the handler has 3 parameters for the tracepoint's 1.*it is sched_process_exit\(struct task_struct \*p" \
    'tracepoint("sched:sched_process_exit", function(p, a, b, c) end)'
refuses "p.regs does not exist at a tracepoint" 'tracepoint("sched:sched_switch", function(p) print(p.regs.di) end)'
refuses "the handler names 2 parameters; these have fewer: .*sched:sched_process_exit \(1\).*: narrow the glob, or name fewer" \
    'tracepoint("sched:sched_process_*", function(p, a, b) end)'
refuses 'tracepoint: a target is "group:name", "name", a glob, or a list of these' 'tracepoint(nil, function() end)'
refuses "a tracepoint has a name" 'tracepoint(0xffffffff81000000ULL, function() end)'
refuses "tracepoint has no option 'via'" 'tracepoint { "sched:sched_switch", via = "ftrace", handler = function() end }'
refuses "no tracepoint 'tracepoint:sched:sched_switch'" 'tracepoint("tracepoint:sched:sched_switch", function() end)'
# what a probe of functions is told
refuses "no function 'tracepoint:sched:sched_switch': write tracepoint\(\"sched:sched_switch\", function\(p\)" 'kprobe("tracepoint:sched:sched_switch", function() end)'
# an optional one may be nowhere
run kprobe-lua -c true -e 'tracepoint { "no:such_tracepoint", optional = true, handler = function() end } kprobe("vfs_read", function() end)'
status 0
err "warning: .*no tracepoint 'no:such_tracepoint'.* \(optional: skipped\)$"
# without tracefs: names do, globs of groups don't
umount /sys/kernel/tracing 2> /dev/null
umount /sys/kernel/debug/tracing 2> /dev/null
umount /sys/kernel/debug
run kprobe-lua -c true -e 'local n = count() tracepoint("sched:sched_switch", function(p, preempt, prev) n:add() end) at_exit(function() print(n:value() > 0) end)'
mounted=$status
run kprobe-lua -c true -e 'tracepoint("sched:*", function() end)'
status 1
err "^-e:1: tracepoint 'sched:\*': .*mount -t tracefs"
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
[ "$mounted" = 0 ] || fail "a name needs no tracefs"
left_nothing
