# SPDX-License-Identifier: MIT
# The module of a probed function goes: each way in is gone and says so, others stay; it comes back and is probed again.
target_lua
script gone.lua <<'LUA'
local target = require "target"
local fast = kprobe("kpl_t_plain", function() end)
local slow = kprobe { "kpl_t_plain", pre = function() end, via = "kprobe" }
local back = kretprobe { "kpl_t_plain", ret = function() end }
local other = kprobe("vfs_read", function() end)
local new
target.steps {
  function() target.call "plain 3" end,
  function() os.execute "rmmod kpl_target" end,
  function()
    print(fast.state, slow.state, back.state, other.state)
    print(fast:stats().hits, slow:stats().hits, back:stats().returns.hits)
    print(pcall(slow.enable, slow))
    print(pcall(fast.enable, fast))
  end,
  function() if os.execute "[ $(grep -c 'probe is gone' err) = 3 ]" ~= 0 then return target.wait end end,
  function() os.execute "insmod TARGET" end,
  function() target.call "plain 4" end,
  function()
    print(fast.state, fast:stats().hits, slow:stats().hits)
    new = kprobe("kpl_t_plain", function(p) printf("new %d\n", p.arg[1]) end)
  end,
  function() target.call "plain 5" end,
  function() print(new.state, new:stats().hits, fast.state) end,
}
LUA
sed -i "s|TARGET|$KPL_TARGET|" gone.lua
run kprobe-lua gone.lua
status 0
line 'gone	gone	gone	ftrace'
line '3	3	3'
lines 2 "^false	gone.lua:[0-9]+: the probe's module was unloaded, or has freed its start-up code: declare the probe again when it is back$"
line 'gone	3	3'
lines 5 '^new [1-5]$'
line 'ftrace	5	gone'
for line in 2 3 4; do
    [ "$(grep -c "^gone.lua:$line: kpl_target:kpl_t_plain: the module was unloaded, or has freed its start-up code: the probe is gone" err)" = 1 ] ||
        fail "line $line is not told once"
done
