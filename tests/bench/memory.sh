#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: the most that a command had resident since it began, a second after its probes were armed, in KB, and what of
# it is its own memory, not programs', libraries' and the kernel's.
# usage: memory.sh KPROBE_LUA OPENSNOOP
kprobe_lua=$1 opensnoop=$2
# shellcheck source=tests/functions.lib
. "${0%/*}/../functions.lib"
mkdir -p /tmp/memory
cd /tmp/memory || exit 1

row() { # NAME ARG…
    name=$1
    shift
    : > err
    "$kprobe_lua" -q -v --max-probes=65536 "$@" > out 2> err < /dev/null &
    pid=$!
    until grep -q '^armed in' err; do
        kill -0 $pid 2> /dev/null || { cat err; exit 1; }
        sleep 0.2
    done
    sleep 1
    awk -v name="$name" '/^VmHWM/ { most = $2 } /^RssAnon/ { own = $2 } END { printf "%-26s %6d %6d\n", name, most, own }' /proc/$pid/status
    kill -INT $pid
    wait $pid || exit 1
}

sleep 5
row cold "$opensnoop"
row again "$opensnoop"
probeable_functions > names
{
    echo 'local names ='
    head -n 10000 names | lua_names
    echo 'local calls = count() kprobe { names, pre = function() calls:add() end }'
} > names.lua
echo 'local calls = count() kprobe { "*", via = "ftrace", pre = function() calls:add() end }' > all.lua
row 10000-names names.lua
row all-functions all.lua
