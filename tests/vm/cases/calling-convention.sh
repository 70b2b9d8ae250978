# SPDX-License-Identifier: MIT
# Nine arguments, three of them on the stack, on each way into the function; a return's value; parameters by their place
# in a jprobe; a handler with more of them than the function.
target_lua
script many.lua <<'LUA'
local target = require "target"
local function show(p)
  printf("%d %d %d %d %d %d %d %d %d\n", p.arg[1], p.arg[2], p.arg[3], p.arg[4], p.arg[5], p.arg[6], p.arg[7],
    p.arg[8], p.arg[9])
end
kprobe { "kpl_t_many", pre = show, via = "ftrace" }
kprobe { "kpl_t_many", pre = show, via = "kprobe" }
kprobe { "kpl_t_many", pre = show, post = function() end }
kretprobe { "kpl_t_many", entry = show, ret = function(p, sum) printf("sum %d %d\n", sum, p.ret) end }
jprobe("kpl_t_plain", function(a, b, name) printf("plain %d %d %s\n", a, b, str(name)) end)
target.steps { function() target.call "many" end, function() target.call "plain 1" end }
LUA
run kprobe-lua many.lua
status 0
quiet_err
lines 4 '^101 -102 103 104 105 106 107 -108 109$'
line 'sum 525 525'
line 'plain 1 2 plain'
script more.lua <<'LUA'
jprobe("vfs_read", function(file, buf, count, pos, more) end)
LUA
run kprobe-lua more.lua
status 1
one_error
err "^more.lua:1: the handler has 5 parameters for the function's 4: it is ssize_t vfs_read\(struct file ?\*file, char ?\*buf, size_t count, loff_t ?\*pos\)$"
script inside.lua <<'LUA'
kprobe("vfs_read+9", function(p) printf("%d\n", p.arg[7]) end)
LUA
run kprobe-lua inside.lua
status 1
one_error
err '^inside.lua:1: .*known only at a function.s first instruction'
