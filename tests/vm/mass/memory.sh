# SPDX-License-Identifier: MIT
# limit: 600
# What is resident: neither the kernel's types nor its symbols as a whole, and some hundred bytes for each function.
# docs/performance.md has what it is; this is the half more that another machine may take.
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"; }
below() { # NAME KB
    kb=$(peak)
    echo "$1: $kb KB"
    [ "$kb" -lt "$2" ] || fail "$1: more than $2 KB"
    kill -INT "$pid"
    finish
    status 0
}
start kprobe-lua "$KPL_ROOT/examples/opensnoop.lua"
armed
below 'opensnoop' 14000
. "$KPL_ROOT/tests/functions.lib"
probeable_functions | head -n 10000 > names
{
    echo 'local names ='
    lua_names < names
    echo 'local calls = count() kprobe { names, pre = function() calls:add() end }'
} > names.lua
start kprobe-lua --max-probes=11000 names.lua
armed
err '^armed in .*: 10000 by ftrace'
below '10,000 functions' 20000
