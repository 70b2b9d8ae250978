# SPDX-License-Identifier: MIT
# Several probes at one place, of all kinds, with and without post handlers: each has every hit, and one that goes takes
# nothing from the others.
target_lua
script twice.lua <<'LUA'
local target = require "target"
local function none() end
local probes = {
  kprobe("kpl_t_plain", none), kprobe("kpl_t_plain", none),
  kprobe { "kpl_t_plain", pre = none, via = "kprobe" }, kprobe { "kpl_t_plain", pre = none, via = "kprobe" },
  kprobe { "kpl_t_plain", pre = none, post = none }, kprobe { "kpl_t_plain", post = none },
  kretprobe { "kpl_t_plain", ret = none }, kretprobe { "kpl_t_plain", entry = none, ret = none },
  jprobe("kpl_t_plain", function(a) end),
}
local function show(what)
  return function()
    target.call "plain 5"
    local hits = {}
    for i, probe in ipairs(probes) do
      local s = probe:stats()
      hits[i] = s.hits .. (s.post and "+" .. s.post.hits or "") .. (s.returns and "+" .. s.returns.hits or "")
    end
    print(what, table.concat(hits, " "))
  end
end
target.steps {
  show "all",
  function() probes[1]:detach() probes[3]:detach() probes[5]:detach() probes[7]:detach() end,
  show "half",
}
LUA
run kprobe-lua twice.lua
status 0
quiet_err
line 'all	5 5 5 5 5+5 0+5 5+5 5+5 5'
line 'half	5 10 5 10 5+5 0+10 5+5 10+10 10'
