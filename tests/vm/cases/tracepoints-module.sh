# SPDX-License-Identifier: MIT
# A module's tracepoints: twelve arguments, one without an event; the module goes and comes while they are probed.
target_lua
script twelve.lua <<'LUA'
local target = require "target"
local rows = event { "first", "sixth", "eleventh", "name" }
local twelve = tracepoint("kpl_target:kpl_t_twelve", function(p)
  rows { first = p.arg[1], sixth = p.arg[6], eleventh = p.arg[11], name = str(p.arg[12]) }
end)
local bare = tracepoint("kpl_t_bare", function(p) printf("bare %d\n", p.arg[1]) end)
local some = tracepoint("kpl_t_*", function() end)
local other = tracepoint("sched:sched_switch", function() end)
rows:each(function(e) print(e.first, e.sixth, e.eleventh, e.name) end)
local new
target.steps {
  function() target.call "twelve 3" target.call "bare 2" end,
  function() print(twelve:stats().hits, bare:stats().hits, some:stats().hits) end,
  function() os.execute "rmmod kpl_target" end,
  function()
    print(twelve.state, bare.state, some.state, other.state)
    print(twelve:stats().hits, pcall(twelve.enable, twelve))
  end,
  function() os.execute "insmod TARGET" end,
  function() target.call "twelve 4" end,
  function()
    print("old", twelve:stats().hits)
    new = tracepoint("kpl_t_twelve", function() end)
  end,
  function() target.call "twelve 5" end,
  function() print("new", new.state, new:stats().hits) end,
}
LUA
sed -i "s|TARGET|$KPL_TARGET|" twelve.lua
run kprobe-lua twelve.lua
status 0
for i in 1 2 3; do line "$i	6	11	twelfth"; done
line 'bare 1'
line 'bare 2'
line '3	2	5'
line 'gone	gone	gone	armed'
out "^3	false	.*the probe's module was unloaded"
line 'old	3'
line 'new	armed	5'
err '^twelve.lua:3: kpl_target:kpl_t_twelve: the module was unloaded'
# a value more than it passes
run kprobe-lua -e 'tracepoint("kpl_t_bare", function(p) print(p.arg[2]) end)'
status 1
err "^-e:1: can't probe kpl_t_bare: it passes fewer arguments than the handler reads$"
# one that calls its module
run kprobe-lua -e 'tracepoint("kpl_target:kpl_t_asks", function() end)'
status 1
err "^-e:1: can't probe kpl_target:kpl_t_asks: it passes no value, or more than 12, or its module wants to be told"
left_nothing
