# SPDX-License-Identifier: MIT
# By ftrace and by kprobe, everything means the same: registers, what is filtered, what is missed inside a handler.
target_lua
script paths.lua <<'LUA'
local target = require "target"
local shown = event()
local function show(p) shown { ip = p.ip, sp = p.sp, addr = p.addr, di = p.regs.di, cs = p.regs.cs, flags = p.regs.flags, a = p.arg[2] } end
local function none() end
local function of(via)
  return {
    kprobe { "kpl_t_plain", pre = show, via = via },
    kprobe { "kpl_t_plain", pre = none, via = via, when = { pid = 1 } },
    kprobe { "kpl_t_plain", pre = function(p) printf("%x\n", p.ip - p.func) end, via = via, when = { comm = "kprobe-lua" } },
    kprobe { "copy_from_user_nofault", pre = none, via = via },
  }
end
local fast, slow = of "ftrace", of "kprobe"
-- its handler calls the function that the last ones probe
kprobe { "kpl_t_inner", pre = function(p) if try(ustr(p.arg[1]), "none") ~= "none" then printf("read\n") end end }
local seen = {}
shown:each(function(e) seen[#seen + 1] = e end)
target.steps {
  function() target.call "plain 10" target.call "outer 3" end,
  function()
    for i = 1, 4 do
      local a, b = fast[i]:stats(), slow[i]:stats()
      print(i, a.hits, a.handled, a.skipped, a.missed, fast[i].state)
      print(i, b.hits, b.handled, b.skipped, b.missed, slow[i].state)
    end
    local same = #seen == 20
    for i = 1, #seen, 2 do
      for k, v in pairs(seen[i]) do
        if k ~= "time" and k ~= "cpu" and seen[i + 1][k] ~= v then same = false print("differs", k, v, seen[i + 1][k]) end
      end
    end
    print("same", same)
  end,
}
LUA
run kprobe-lua paths.lua
status 0
line 'same	true'
lines 2 '^1	10	10	0	0	ftrace$'
lines 2 '^2	10	0	10	0	ftrace$'
lines 2 '^3	10	10	0	0	ftrace$'
lines 2 '^4	[0-9]+	[0-9]+	0	3	ftrace$'
# what ftrace can't do, or must not
refuses "kretprobe: 'via' must be \"auto\", \"direct\" or \"kretprobe\"$" 'kretprobe { "vfs_read", via = "ftrace", ret = function() end }'
refuses 'via = "ftrace" stands at a function.s entry, not at vfs_read\+0x9' 'kprobe { "vfs_read+9", via = "ftrace", pre = function() end }'
refuses "can't probe do_int3: the kernel's blacklist forbids it" 'kprobe { "do_int3", via = "ftrace", pre = function() end }'
refuses "can't probe do_int3: the kernel's blacklist forbids it" 'kprobe { "do_int3", pre = function() end }'
grep -qx do_int3 /sys/kernel/tracing/available_filter_functions || fail 'do_int3 proves nothing here'
# a function without a site: a kprobe takes its place, unless ftrace alone would do
refuses "can't probe strim: ftrace has no site there" 'kprobe { "strim", via = "ftrace", pre = function() end }'
run kprobe-lua -v -c true -e 'kprobe({ "strim", "vfs_read" }, function() end)'
status 0
err '^armed in [0-9.]+ s: 1 by ftrace, 1 by kprobe$'
run kprobe-lua -c true -e 'kprobe { { "strim", "do_int3", "no_such" }, optional = true, pre = function() end }'
status 0
lines 0 .
err "^warning: -e:1: no function 'no_such'.*\(optional: skipped\)$"
err "^warning: -e:1: can't probe do_int3: .*\(optional: skipped\)$"
