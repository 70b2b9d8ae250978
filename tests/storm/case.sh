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
        echo round >> rounds
    done
}

storms() {
    refuse_memory 1
    others > /dev/null 2>&1 &
    other=$!
    run storm "$1" "$2"
    until_true 'modules, CPUs and tracers to have come and gone' [ -s rounds ]
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
    no_leaks
    rmmod kprobe_lua || fail "the module can't be unloaded"
    insmod "$KPL_MODULE" || fail "the module can't be loaded again"
}
unused() { [ "$(cat /sys/module/kprobe_lua/refcnt)" = 0 ]; }

# Nothing is kept of what was allocated: on a kernel that looks for it.
no_leaks() {
    leaks=/sys/kernel/debug/kmemleak
    [ -e $leaks ] || return 0
    sleep 6 # what is younger is not looked at
    echo scan > $leaks
    sleep 6
    echo scan > $leaks
    if grep -q 'kprobe_lua\|kpl_planted' $leaks; then
        head -n 60 $leaks
        fail "memory that nobody frees"
    fi
}

# On a kernel that can: PERCENT of the allocations of those who ask for it are refused. Not those that a kprobe's disarming
# needs: the kernel would warn and lose count of the kprobes that ftrace serves.
refuse_memory() { # PERCENT
    disarm=$(sort /proc/kallsyms |
        awk 'start && $1 != start { print "0x" start, "0x" $1; exit } $3 == "disarm_kprobe_ftrace" { start = $1 }')
    for what in failslab fail_page_alloc; do
        at=/sys/kernel/debug/$what
        [ -e $at ] || return 0
        [ -n "$disarm" ] || fail "no disarm_kprobe_ftrace to spare"
        for setting in verbose:0 ignore-gfp-wait:N task-filter:Y times:-1 interval:1 probability:"$1" stacktrace-depth:32 \
            "reject-start:${disarm% *}" "reject-end:${disarm#* }"; do
            echo "${setting#*:}" > "$at/${setting%:*}"
        done
    done
    echo 0 > $at/min-order
    echo N > $at/ignore-gfp-highmem
}

# Every allocation of each call whose name begins so is refused once.
each_allocation_fails() { # NAME
    refuse_memory 0
    run nth "$1"
    cat out
    status 0
    left_nothing
    no_leaks
}
