#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: runner.sh guest|host LIB CASE.sh…
# Runs each case and tells driver.cpp, on stdout: "@start NAME" before it, "@case NAME STATUS MILLISECONDS BYTES" and
# that many bytes of output after it. In the guest, nothing that a case started or armed outlives it,
# and a module that was loaded stays loaded.
where=$1
lib=$2
shift 2
work=$(mktemp -d)

now_ms() {
    read -r seconds _ < /proc/uptime
    echo $((${seconds%.*} * 1000 + 1${seconds#*.}0 - 1000)) # the 1: digits that begin with 0 would be octal
}

# What the kernel says of itself since it was booted: a bad page, an oops, a warning, a CPU that hung. Cases may keep the
# console from showing it.
taints() { [ "$where" != guest ] || echo $(($(cat /proc/sys/kernel/tainted) & (32 | 128 | 512 | 16384))); }

run_case() {
    name=$(basename "$1" .sh)
    limit=$(sed -n 's/^# limit: //p' "$1")
    limit=$((${limit:-300} * ${KPL_SLOWNESS:-1}))
    echo "@start $name"
    if [ "$where" = guest ]; then
        echo "<3>kpl-case: $name" > /dev/kmsg # so that a splat on the console has a name
        # The emulator translates code for each address anew, half of the time. Cases about addresses say 2.
        echo 0 > /proc/sys/kernel/randomize_va_space
    fi
    mkdir "$work/$name"
    cd "$work/$name" || exit 1
    began=$(now_ms)
    tainted=$(taints)
    # shellcheck disable=SC2016
    timeout -k 5 "$limit" sh -c '. "$1"; . "$2"' case "$lib" "$1" > "$work/output" 2>&1 < /dev/null
    result=$?
    case $result in 124 | 137 | 143) echo "ended after its limit of $limit s" >> "$work/output" ;; esac
    cd /
    if [ "$where" = guest ]; then
        if [ "$(taints)" != "$tainted" ]; then
            echo "the kernel is tainted: $tainted before, $(taints) now"
            dmesg | sed "1,/kpl-case: $name\$/d" | grep -m 1 -A 40 -E 'BUG: |WARNING: '
            result=1
        fi >> "$work/output"
        kill -9 -1 2> /dev/null # everything but init and this shell
        [ ! -d /sys/module/kpl_target ] || rmmod kpl_target
        # shellcheck source=tests/vm/lib.sh
        (. "$lib"; left_nothing) >> "$work/output" 2>&1 || result=1 spoilt=1
        if [ -n "$loaded" ] && [ ! -d /sys/module/kprobe_lua ]; then
            echo "left the module unloaded" >> "$work/output"
            result=1 spoilt=1
        fi
    fi
    printf '@case %s %d %d %d\n' "$name" "$result" $(($(now_ms) - began)) "$(wc -c < "$work/output")"
    cat "$work/output"
}

[ -d /sys/module/kprobe_lua ] && loaded=1 || loaded=

# An emulator that gets little of its machine is no kernel that hangs: the watchdogs wait as long as they can.
if [ "$where" = guest ]; then
    echo 60 > /proc/sys/kernel/watchdog_thresh
    echo 120 > /sys/module/rcupdate/parameters/rcu_cpu_stall_timeout
fi

spoilt=
for file; do
    run_case "$file"
    [ -z "$spoilt" ] || exit 1 # the next case deserves a kernel without this one's remains
done
rm -rf "$work"
