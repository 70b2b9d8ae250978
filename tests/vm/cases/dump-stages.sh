# SPDX-License-Identifier: MIT
# -d: every stage, from LuaJIT's bytecode to native code, with the script's lines.
script d.lua <<'LUA'
local n = count()
kprobe("read_zero", function(p, file, buf, count)
  if count > 10 then n:add() end
end)
LUA
run kprobe-lua -d all -c 'dd if=/dev/zero of=/dev/null bs=16 count=3 2>/dev/null' d.lua
status 0
lines 4 '^;    3\| if count > 10 then n:add\(\) end$'
out '^-- d.lua:2 pre of read_zero: native code$'
out '^f{8}[0-9a-f]{8}  .* callq 0xf{8}[0-9a-f]{8}  <kpl_h_[a-z_]+ \[kprobe_lua\]>$'
out ' retq$'
line '@n: 3'

run kprobe-lua --check -d native d.lua
status 0
no_out 'native code'
