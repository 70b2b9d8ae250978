# SPDX-License-Identifier: MIT
# A module goes, and another probe is declared: names of functions of programs stay as they were. One comes when the
# kernel's names have been read already, or goes before they are shown: its functions have theirs in stacks.
target_lua
script names.lua <<'LUA'
local target = require "target"
local calls = event()
local function say(p) calls { func = p.func } end
uprobe("uprobed:add", say)
calls:each(function(e) print(e.func) end)
target.steps {
  function() target.call "plain 1" os.execute "uprobed add 1 > twice" end,
  function() os.execute "rmmod kpl_target" uprobe("uprobed:nine", say) end,
  function() os.execute "uprobed nine 1 > twice" end,
  function() os.execute "uprobed add 1 > twice" end,
}
LUA
run kprobe-lua names.lua
status 0
quiet_err
lines 2 '^uprobed:add$'
lines 1 '^uprobed:nine$'

script later.lua <<'LUA'
local opens = event()
local names = 0
local all = count()
kprobe("do_filp_open", function() opens { stack = kstack(6) } all[kstack(6)]:add() end)
opens:each(function(e) names = names + 1 print(e.stack) end)
local step = 0
every(0.1, function()
  if step == 0 then os.execute "cat /dev/null" step = 1
  elseif step == 1 and names > 0 then
    print "it comes"
    os.execute("insmod " .. arg[1] .. "; echo open /dev/null > /sys/module/kpl_target/parameters/run; echo -n > last")
    step = 2
  elseif step == 2 then
    os.execute "rmmod kpl_target"
    step = 3
  elseif step < 6 then step = step + 1
  else exit() end
end)
LUA
[ ! -d /sys/module/kpl_target ] || fail "the module is there before it comes"
run kprobe-lua later.lua "$KPL_TARGET"
status 0
out '^    [a-z_]+\+0x[0-9a-f]+ \[kpl_target\]$'
sed -n '/^@all/,$p' out | grep -q '\[kpl_target\]' || fail "no names since it went"
sed '/^it comes$/q' out > before
grep -q kpl_target before && fail "names before it came"
left_nothing
