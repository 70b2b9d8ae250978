# SPDX-License-Identifier: MIT
# ^C drains and prints; nothing stays behind.
script run.lua <<'LUA'
local reads = count()
kprobe("vfs_read", function() reads[comm()]:add() end)
kretprobe { "vfs_write", ret = function() end }
print("armed soon")
at_exit(function() print("at exit") end)
LUA
start kprobe-lua run.lua
wait_for 'armed soon'
armed
dd if=/etc/passwd of=/dev/null bs=1 count=20 2> /dev/null
kill -INT "$pid"
finish
status 0
line 'at exit'
out '^@reads\[dd\]: 2[0-9]'
left_nothing
