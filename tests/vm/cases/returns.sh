# SPDX-License-Identifier: MIT
# Returns: value, address, task and private data of each call; recursion keeps each call's own; entry may decline.
target_lua
script returns.lua <<'LUA'
local target = require "target"
local r = kretprobe { "kpl_t_recurse",
  entry = function(p) p.data.depth = p.arg[1] p.data.task = pid() end,
  ret = function(p, v)
    printf("depth %d returns %d %s %s\n", p.data.depth, v, p.data.task == pid() and "same" or "other", p.ret_addr)
  end,
}
local some = kretprobe { "kpl_t_plain",
  entry = function(p) if p.arg[1] % 2 == 0 then return false end p.data.a = p.arg[1] end,
  ret = function(p, v) printf("odd %d returns %d\n", p.data.a, v) end,
}
local only = kretprobe { "kpl_t_outer", entry = function() end }
target.steps {
  function() target.call "recurse 4" end,
  function() target.call "plain 5" end,
  function() target.call "outer 6" end,
  function()
    local s, o = some:stats(), only:stats()
    print("some", s.hits, s.handled, s.returns.hits, s.returns.outstanding, s.dropped)
    print("only", o.hits, o.returns.hits, o.returns.outstanding)
    print("recursive", r:stats().hits, r:stats().returns.hits)
  end,
}
LUA
run kprobe-lua returns.lua
status 0
quiet_err
for depth in 0 1 2 3 4; do
    lines 1 "^depth $depth returns $((depth + 1)) same (kpl_t_recurse|run_set)\+0x[0-9a-f]+"
done
lines 3 '^odd [135] returns'
line 'odd 3 returns 121'
line 'some	5	5	3	0	0'
line 'only	6	0	0'
line 'recursive	5	5'

# stacks at a return have the callers, not what the return was led through
for via in kretprobe direct; do
    run kprobe-lua -q -c 'echo "outer 1" > /sys/module/kpl_target/parameters/run' \
        -e "local s = count() kretprobe { 'kpl_t_inner', via = '$via', ret = function() s[kstack()]:add() end }"
    status 0
    out 'kpl_t_outer'
    no_out 'trampoline|kpl_stub'
done
