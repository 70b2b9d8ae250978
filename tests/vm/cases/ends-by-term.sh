# SPDX-License-Identifier: MIT
script run.lua <<'LUA'
kprobe("vfs_read", function() end)
at_exit(function() print("at exit") end)
LUA
for signal in TERM HUP; do
    start kprobe-lua run.lua
    armed
    kill -$signal "$pid"
    finish
    status 0
    line 'at exit'
    left_nothing
done
# What ignores hang-ups from the start on, as under nohup, goes on.
start sh -c 'trap "" HUP; exec kprobe-lua run.lua'
armed
kill -HUP "$pid"
kill -USR1 "$pid" # is seen after it
kill -0 "$pid" || fail "ended by the hang-up"
kill -TERM "$pid"
finish
status 0
line 'at exit'
