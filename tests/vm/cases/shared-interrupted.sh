# SPDX-License-Identifier: MIT
# Two probes at one function, of which the first only adds and takes no guard, under clock interrupts whose handlers look at
# registers, too: the second one sees the function's, at each hit.
script both.lua <<'LUA'
local calls, others, ticks = count(), count(), count()
kprobe("read_zero", function() calls:add() end)
kprobe("read_zero", function(p) if p.arg[3] ~= 8 then others:add() end end)
interval(0.0001, function(p) ticks[p.ip]:add() end)
at_exit(function() print(calls:value() >= 40000, others:value()) end)
LUA
run kprobe-lua --cpu-share=100 -c 'dd if=/dev/zero of=/dev/null bs=8 count=40000 2>/dev/null' both.lua
status 0
line 'true	0'
