#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: how long it takes to arm thousands of entries by ftrace, and as many returns by direct calls.
# usage: attach.sh KPROBE_LUA NUMBER…
kprobe_lua=$1
shift
tracing=/sys/kernel/tracing
mountpoint -q $tracing 2> /dev/null || mount -t tracefs none $tracing 2> /dev/null
mountpoint -q /sys/kernel/debug 2> /dev/null || mount -t debugfs none /sys/kernel/debug 2> /dev/null
mkdir -p /tmp/attach
cd /tmp/attach || exit 1
# Names of one function each, which may be probed.
grep -v ' \[' $tracing/available_filter_functions | grep -E '^[a-z][a-z_0-9]*$' | sort | uniq -u > traceable
awk -F'\t' '{ print $2 }' /sys/kernel/debug/kprobes/blacklist | sort -u > bad
awk '$2 ~ /[tTwW]/ { print $3 }' /proc/kallsyms | sort | uniq -d >> bad
awk 'NR == FNR { bad[$1] = 1; next } !($1 in bad)' bad traceable > names
for number in "$@"; do
    {
        echo 'local names = {'
        head -n "$number" names | sed 's/.*/"&",/'
        cat << 'LUA'
}
local calls = count()
if arg[1] == "returns" then
  kretprobe { names, via = "direct", optional = true, ret = function() calls:add() end }
else
  kprobe { names, via = "ftrace", optional = true, pre = function() calls:add() end }
end
LUA
    } > all.lua
    for what in entries returns; do
        # The first time of all, files are read.
        for _ in 1 2; do "$kprobe_lua" -q -v --max-probes=65536 -c true all.lua $what > out 2> err || { cat err; exit 1; }; done
        echo "$number $what: $(grep '^armed in' err | sed 's/ (.*//'), $(grep -o 'gone in.*' err)"
    done
done
