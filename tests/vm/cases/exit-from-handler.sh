# SPDX-License-Identifier: MIT
# What was sent before exit() is delivered, nothing after it.
script exit.lua <<'LUA'
local seen = event()
local n = count()
kprobe("read_zero", function() seen { pid = pid() }; n:add(); exit(7) end)
seen:each(function() print("got") end)
LUA
run kprobe-lua -v -c 'dd if=/dev/zero of=/dev/null bs=8 count=100 2>/dev/null; sleep 1000' exit.lua
status 7
lines 1 '^got$'
line '@n: 1'
err '^events: 1 sent = 1 delivered \+ 0 lost$'
