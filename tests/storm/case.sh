# SPDX-License-Identifier: MIT
# storms SECONDS SEED: tests/storm/storm, while a module with functions comes and goes, a CPU does, and other tracers do; and
# what it leaves.
tracing=/sys/kernel/tracing
cpu=/sys/devices/system/cpu/cpu1/online

others() {
    while :; do
        rmmod kpl_target
        [ ! -e $cpu ] || { echo 0 > $cpu; sleep 0.3; echo 1 > $cpu; }
        insmod "$KPL_TARGET"
        echo 'vfs_*' > $tracing/set_ftrace_filter
        echo function > $tracing/current_tracer
        sleep 0.3
        echo 'p vfs_read' > $tracing/kprobe_events
        echo 1 > $tracing/events/kprobes/enable
        sleep 0.2
        echo 0 > $tracing/events/kprobes/enable
        echo > $tracing/kprobe_events
        echo nop > $tracing/current_tracer
        echo > $tracing/set_ftrace_filter
    done
}

storms() {
    others > /dev/null 2>&1 &
    other=$!
    run storm "$1" "$2"
    kill $other
    wait $other
    cat out
    status 0
    [ ! -e $cpu ] || echo 1 > $cpu
    for file in events/kprobes/enable:0 kprobe_events: current_tracer:nop set_ftrace_filter:; do
        [ ! -e "$tracing/${file%:*}" ] || echo "${file#*:}" > "$tracing/${file%:*}"
    done
    until_true "the module to be free" unused # children of the killed may still end
    left_nothing
    rmmod kprobe_lua || fail "the module can't be unloaded"
    insmod "$KPL_MODULE" || fail "the module can't be loaded again"
}
unused() { [ "$(cat /sys/module/kprobe_lua/refcnt)" = 0 ]; }
