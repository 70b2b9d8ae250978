# SPDX-License-Identifier: MIT
# Many tasks asleep in one function that has kretprobes: as many instances as asked for, or as the kernel's rule gives; all others are missed,
# to the last one. A sleeper that outlives its probe comes home.
target_lua
script sleepers.lua <<'LUA'
local target = require "target"
local two = kretprobe { "kpl_t_sleep", maxactive = 2, via = "kretprobe", ret = function() end }
local entered = kretprobe { "kpl_t_sleep", maxactive = 3, via = "kretprobe", entry = function(p) p.data.x = tid() end,
  ret = function() end }
local default = kretprobe { "kpl_t_sleep", via = "kretprobe", ret = function() end }
local many = kretprobe { "kpl_t_sleep", maxactive = 100, via = "kretprobe",
  entry = function(p) p.data.tid = tid() end,
  ret = function(p) printf("%s\n", p.data.tid == tid() and "own" or "another's") end }
local function show(name, probe)
  local s = probe:stats()
  print(name, s.hits, s.handled, s.missed, s.returns.hits, s.returns.outstanding)
end
target.steps {
  function() target.call "sleep 40" end,
  function() show("two", two) show("entered", entered) show("default", default) show("many", many) end,
  function() target.call "sleep 2" end,
  function() show("again", two) end,
}
LUA
run kprobe-lua sleepers.lua
status 0
line 'two	40	2	38	2	0'
line 'entered	40	3	37	3	0'
line 'many	40	40	0	40	0'
lines 42 '^own$'
line 'again	42	4	38	4	0'
# at least ten, twice the CPUs where that is more
cpus=$(grep -c ^processor /proc/cpuinfo)
default=$((2 * cpus > 10 ? 2 * cpus : 10))
out "^default	40	($default|$cpus)	"
awk -F'\t' '$1 == "default" && $2 != $3 + $4 || $1 == "default" && $3 != $5 { bad = 1 } END { exit bad }' out || fail 'not exact'
# the probe goes while a task sleeps in it
script leaves.lua <<'LUA'
local target = require "target"
kretprobe { "kpl_t_sleep", via = "kretprobe", ret = function() print "returned" end }
target.steps { function() target.call "hold 3" end }
LUA
run kprobe-lua leaves.lua
status 0
no_out returned
target wake
