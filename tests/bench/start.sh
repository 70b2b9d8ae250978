#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: from the start of a command to its probes being armed, in milliseconds of a clock that counts
# instructions: a million of them are one.
# usage: start.sh KPROBE_LUA SCRIPT
kprobe_lua=$1 script=$2 dir=$(dirname "$0")

row() { echo "$1 $2 $3" | awk '{ printf "%-26s %6.0f\n", $1, ($3 - $2) * 1000 }'; }
now() { /usr/bin/date +%s.%N; }

# The script's first timer fires when its probes are armed; the clock is that of date(1).
armed() {
    sleep 1 # the kernel is still busy with the end of what came before
    from=$(now)
    "$@" > /tmp/out 2> /tmp/err || { cat /tmp/err; exit 1; }
    # shellcheck disable=SC2154 # set by those who call
    row "$name" "$from" "$(grep '^armed ' /tmp/out | cut -d' ' -f2)"
}

sleep 5
from=$(now)
row nothing "$from" "$(now)"
name=cold armed "$kprobe_lua" -I "$dir" -r armed "$script"
name=again armed "$kprobe_lua" -I "$dir" -r armed "$script"
name=without-types armed "$kprobe_lua" -I "$dir" -r armed -e 'kprobe("vfs_read", function() end)'
name=glob armed "$kprobe_lua" -I "$dir" -r armed -e 'kprobe("vfs_*", function() end)'
name=glob-again armed "$kprobe_lua" -I "$dir" -r armed -e 'kprobe("vfs_*", function() end)'
command -v bpftrace > /dev/null || exit 0
name=bpftrace armed bpftrace -e 'BEGIN { printf("armed %s\n", strftime("%s.%f", nsecs)); }
    kprobe:do_sys_openat2 { @path[tid] = arg1; }
    kretprobe:do_sys_openat2 /@path[tid]/ { printf("%d %s %d %s\n", pid, comm, retval, str(@path[tid])); delete(@path[tid]); }
    interval:ms:1 { exit(); }'
# Debian's opensnoop.bt, up to its BEGIN.
[ -e /usr/sbin/opensnoop.bt ] || exit 0
sed 's/printf("Tracing.*/printf("armed %s\\n", strftime("%s.%f", nsecs));/' /usr/sbin/opensnoop.bt > /tmp/opensnoop.bt
echo 'interval:ms:1 { exit(); }' >> /tmp/opensnoop.bt
name=opensnoop.bt armed bpftrace /tmp/opensnoop.bt
