# SPDX-License-Identifier: MIT
# map(): written by handlers, read, set and deleted by user space.
script map.lua <<'LUA'
local last = map()
kprobe("read_zero", function() last[comm()] = { pid = pid(), n = 1 } end)
at_exit(function()
  for name, v in last:pairs() do print(name, v.pid > 0, v.n) end
  last:set("made", { pid = 5, n = -1 })
  print(last:get("made").n, last:delete("made"), last:get("made"), last:delete("made"))
end)
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=3 2>/dev/null' map.lua
status 0
line 'dd	true	1'
line '-1	true	nil	false'
