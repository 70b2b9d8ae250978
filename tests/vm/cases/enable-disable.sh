# SPDX-License-Identifier: MIT
# Declared off, switched on and off again: what is off counts nothing.
script onoff.lua <<'LUA'
local n, step = count(), 0
local probe = kprobe { "read_zero", pre = function() n:add() end, enabled = false }
every(0.01, function()
  step = step + 1
  if step == 2 then probe:enable() elseif step == 3 then probe:disable() elseif step == 4 then exit(3) end
  os.execute "dd if=/dev/zero of=/dev/null bs=8 count=20 2>/dev/null"
  print(step, probe.state, n:value())
end)
LUA
run kprobe-lua onoff.lua
status 3
line '1	disabled	0'
out '^2	(ftrace|int3|optimized)	20$'
line '3	disabled	20'
