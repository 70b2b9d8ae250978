# SPDX-License-Identifier: MIT
# -p: a process that is none, one in a namespace of its own, and with a filter of the declaration.
run kprobe-lua -p 4194000 -e 'kprobe("vfs_read", function() end)'
status 1
one_error
err '^kprobe-lua: no process 4194000$'
target_lua
script both.lua <<'LUA'
local target = require "target"
local named = kprobe { "kpl_t_plain", pre = function() end, when = { comm = "kprobe-lua" } }
local other = kprobe { "kpl_t_plain", pre = function() end, when = { comm = "another" }, via = "kprobe" }
local mine = kretprobe { "kpl_t_plain", ret = function() end }
target.steps {
  function() target.call "plain 4" os.execute "echo plain 3 > /sys/module/kpl_target/parameters/run" end,
  function()
    print(named:stats().handled, named:stats().skipped, other:stats().handled, other:stats().skipped, mine:stats().handled)
  end,
}
LUA
# of itself alone: the shell execs it, so that it has a number that is known before
run sh -c 'exec kprobe-lua -p $$ both.lua'
status 0
line '4	3	0	7	4'
script differ.lua <<'LUA'
kprobe { "kpl_t_plain", pre = function() end, when = { pid = 1 } }
LUA
run sh -c 'exec kprobe-lua -p $$ differ.lua'
status 1
one_error
err '^differ.lua:1: when.pid is 1, but -p asks for [0-9]+: no hit matches both; leave one out$'
# process 1 of a new namespace is itself there, and another number outside
run unshare -p -f sh -c 'exec kprobe-lua -p 1 both.lua'
status 0
line '4	3	0	7	4'
