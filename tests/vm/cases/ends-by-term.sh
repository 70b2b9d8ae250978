# SPDX-License-Identifier: MIT
script run.lua <<'LUA'
kprobe("vfs_read", function() end)
at_exit(function() print("at exit") end)
LUA
start kprobe-lua run.lua
armed
kill -TERM "$pid"
finish
status 0
line 'at exit'
left_nothing
