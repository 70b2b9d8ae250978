# SPDX-License-Identifier: MIT
# -p: hits of other processes are skipped. The background job reads all the time.
script pids.lua <<'LUA'
local seen = count()
kprobe("vfs_read", function() seen[pid()]:add() end)
every(0.1, function() if seen:value(tonumber(arg[1])) >= 10 then print(seen) exit() end end)
LUA
(while :; do read -r _ < /proc/uptime; sleep 0.05; done) &
reader=$!
(while :; do read -r _ < /proc/uptime; sleep 0.05; done) &
run kprobe-lua -p "$reader" pids.lua "$reader"
status 0
out "^@seen\\[$reader\\]: [1-9]"
lines 1 '^@seen'
