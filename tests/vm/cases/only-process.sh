# SPDX-License-Identifier: MIT
# -p: hits of other processes are skipped. The background job reads all the time.
script pids.lua <<'LUA'
local seen = count()
kprobe("vfs_read", function() seen[pid()]:add() end)
LUA
(while :; do read -r _ < /proc/uptime; sleep 0.05; done) &
reader=$!
(while :; do read -r _ < /proc/uptime; sleep 0.05; done) &
run kprobe-lua -p "$reader" --timeout 2 pids.lua
status 0
out "^@seen\\[$reader\\]: [1-9]"
lines 1 '^@seen'
