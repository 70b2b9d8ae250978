# SPDX-License-Identifier: MIT
# Called from a timer's soft interrupt, from a hard one, and in turn from another probed function: exact in each.
target_lua
script contexts.lua <<'LUA'
local target = require "target"
local n = count()
local probes = {
  kprobe("kpl_t_timer", function() n["timer"]:add() end),
  kprobe { "kpl_t_irq", pre = function() n["irq"]:add() end, via = "kprobe" },
  kretprobe { "kpl_t_irq", entry = function(p) p.data.n = p.arg[1] end, ret = function(p, v)
    n[p.data.n == v and "right" or "wrong"]:add() end },
  kprobe("kpl_t_outer", function() n["outer"]:add() end),
  kprobe("kpl_t_inner", function() n["inner"]:add() end),
}
target.steps {
  function() target.call "timer 20" end,
  function() target.call "irq 30" end,
  function() target.call "outer 40" end,
  function()
    for _, name in ipairs { "timer", "irq", "right", "wrong", "outer", "inner" } do print(name, n:value(name)) end
    for i, probe in ipairs(probes) do print("probe " .. i, probe:stats().hits, probe:stats().missed) end
  end,
}
LUA
run kprobe-lua contexts.lua
status 0
line 'timer	20'
line 'irq	30'
line 'right	30'
line 'wrong	0'
line 'outer	40'
line 'inner	40'
line 'probe 1	20	0'
line 'probe 3	30	0'
line 'probe 5	40	0'
