# SPDX-License-Identifier: MIT
script onoff.lua <<'LUA'
local n, step = count(), 0
local probe = kprobe { "read_zero", pre = function() n:add() end, enabled = false }
every(0.4, function()
  step = step + 1
  print(step, probe.state, n:value() > 0)
  n:clear()
  if step == 2 then probe:enable() elseif step == 4 then probe:disable() elseif step == 6 then exit(3) end
end)
LUA
start kprobe-lua onoff.lua
while kill -0 "$pid" 2>/dev/null; do dd if=/dev/zero of=/dev/null bs=8 count=20 2>/dev/null; sleep 0.05; done
finish
status 3
line '1	disabled	false'
out '^3	(ftrace|int3|optimized)	true$'
out '^4	(ftrace|int3|optimized)	true$'
line '6	disabled	false'
