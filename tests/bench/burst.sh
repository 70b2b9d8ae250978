#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in a VM: what is lost of 99,999 events that come as fast as a program can read a byte, with rings as they are by
# default: when each is printed, into a pipe and into a file, and when each is counted by a callback.
# usage: burst.sh READS [CPUS]     CPUS=1: with the second one off
reads=$1
[ "$2" != 1 ] || echo 0 > /sys/devices/system/cpu/cpu1/online
cd /tmp || exit 1
cat > print.lua << 'LUA'
local seen = event()
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each(function(e) print(e.pid, e.comm) end)
LUA
cat > count.lua << 'LUA'
local seen, by = event(), {}
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each(function(e) by[e.comm] = (by[e.comm] or 0) + 1 end)
LUA
burst() { # WHAT SCRIPT
    kprobe-lua -q -v --cpu-share 100 -c "$reads 79999 > /dev/null" "$2" 2> err
    sed -n "s/^events:/$1:/p" err >&2
}
for _ in 1 2; do
    burst 'printed into a pipe' print.lua | cat > out
    burst 'printed into a file' print.lua > out
    burst 'counted' count.lua > out
done
