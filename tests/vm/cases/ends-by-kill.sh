# SPDX-License-Identifier: MIT
# The kernel cleans up after a session that had no chance to.
script run.lua <<'LUA'
local reads, seen = count(), event()
kprobe("vfs_read", function() reads[comm()]:add(); seen { pid = pid() } end)
kretprobe { "vfs_write", entry = function(p) p.data.t0 = now() end, ret = function(p) seen { pid = pid() } end }
seen:each(function() end)
LUA
(while :; do cat /etc/passwd > /dev/null; done) &
start kprobe-lua run.lua
armed
kill -KILL "$pid"
finish
status 137
left_nothing
