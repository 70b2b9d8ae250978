# SPDX-License-Identifier: MIT
# What users of other tracers take for granted: equal stacks are one key, the tracer's own start is not counted, names are
# those that were asked for, a key that was never updated is 0, IPv4 in a socket of IPv6.
target_lua
script stacks.lua <<'LUA'
local stacks = count()
kprobe("vfs_statx", function() stacks[kstack()]:add() end)
at_exit(function()
  local keys = 0
  for stack in stacks:pairs() do
    keys = keys + 1
    print(stack)
  end
  print("stacks", keys)
end)
LUA
run kprobe-lua -c 'stat /etc/passwd /etc /tmp /dev/null > /dev/null' stacks.lua
status 0
line 'stacks	1'
grep -q '^ *0x' out && fail "an address of the process is in the kernel's stack"
script self.lua <<'LUA'
local target = require "target"
local reads, calls = count(), count()
kprobe("vfs_read", function(p) reads[p.func]:add() end)
kprobe("__x64_sys_getpid", function(p) calls[p.func]:add() end)
every(0.1, function()
  if not reads:top()[1] or not calls:top()[1] then return end
  for name, n in reads:take():pairs() do print("reads", n < 100) end
  print(reads:take():value "nothing")
  exit()
end)
at_exit(function() for name in calls:pairs() do print(name) end end)
LUA
run kprobe-lua -c 'cat /etc/passwd > /dev/null; sh -c :; sleep 2' self.lua
status 0
line 'reads	true'
line 0
line __x64_sys_getpid
script cost.lua <<'LUA'
kprobe("vfs_read", function() local x = 0 for i = 1, 1000000 do x = i end end)
LUA
run kprobe-lua --cost cost.lua
status 0
out '^ *30000 +30000 '
echo "# operators of C's"
for row in 'if 1 != 2 then end|`~=` is Lua' 'n[a, b] = 1|n\[\{ a, b \}\]' 'x += 1|x = x \+ 1' 'local a = b->c|`.` is Lua' 'local l = $1|arg\[1\]' '@x = count()|local n = count\(\)'; do
    run kprobe-lua --check -e "${row%|*}"
    status 1
    one_error
    err "${row##*|}"
done
run kprobe-lua kprobe:vfs_read
status 2
err 'write kprobe\("vfs_read"'
