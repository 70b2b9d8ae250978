# SPDX-License-Identifier: MIT
# A module goes, and another probe is declared: names of functions of programs stay as they were.
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
left_nothing
