#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs in the VM: how long it takes to arm thousands of entries by ftrace, and as many returns by direct calls.
# usage: attach.sh KPROBE_LUA NUMBER…
kprobe_lua=$1
shift
# shellcheck source=tests/functions.lib
. "${0%/*}/../functions.lib"
mkdir -p /tmp/attach
cd /tmp/attach || exit 1
probeable_functions > names
for number in "$@"; do
    {
        echo 'local names ='
        head -n "$number" names | lua_names
        cat << 'LUA'
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
