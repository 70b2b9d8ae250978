# SPDX-License-Identifier: MIT
# Declared off; switched one by one and as a group, by the main chunk and by callbacks while hits flow; detached, also
# before anything is armed. What is off counts nothing, and takes no place in the kernel's own list.
target_lua
script groups.lua <<'LUA'
local target = require "target"
local n = count()
local function counts(p) n[p.func]:add() end
local plain = kprobe { "kpl_t_plain", pre = counts, enabled = false }
local inner = kprobe { "kpl_t_inner", pre = counts, via = "kprobe" }
local outer = kretprobe { "kpl_t_outer", ret = counts, via = "kretprobe" }
local never = kprobe { "kpl_t_recurse", pre = counts, via = "kprobe" }
local all = batch { plain, inner, outer }
inner:disable()
never:detach()
print(plain.state, inner.state, outer.state, never.state)
local function listed()
  local kprobes, off = 0, 0
  for line in io.lines "/sys/kernel/debug/kprobes/list" do
    if line:find "kpl_t_" then kprobes = kprobes + 1 end
    if line:find "DISABLED" then off = off + 1 end
  end
  return kprobes .. "/" .. off
end
local function go(what)
  return function()
    local before = { plain:stats().hits, inner:stats().hits, outer:stats().returns.hits, never:stats().hits }
    target.call "plain 10"
    target.call "outer 20"
    target.call "recurse 5"
    print(what, plain:stats().hits - before[1], inner:stats().hits - before[2],
          outer:stats().returns.hits - before[3], never:stats().hits, listed())
  end
end
target.steps {
  go "start", function() plain:enable() inner:enable() end,
  go "both on", function() all:disable() end,
  go "all off", function() all:enable() end,
  go "all on", function() inner:detach() outer:disable() end,
  go "one detached", function() print(pcall(inner.enable, inner)) print(pcall(never.enable, never)) end,
  function() plain:disable() plain:disable() plain:enable() plain:enable() outer:enable() end,
  go "again", function() all:detach() print(plain.state, inner.state, outer.state, never.state) end,
  go "detached",
}
LUA
run kprobe-lua groups.lua
status 0
line 'disabled	disabled	disabled	detached'
line 'start	0	0	20	0	2/1'
line 'both on	10	20	20	0	2/0'
line 'all off	0	0	0	0	2/2'
line 'all on	10	20	20	0	2/0'
line 'one detached	10	0	0	0	1/1'
lines 2 '^false	groups.lua:[0-9]+: the probe was detached: declare it again$'
line 'again	10	0	20	0	1/0'
line 'detached	detached	detached	detached'
line 'detached	0	0	0	0	0/0'
