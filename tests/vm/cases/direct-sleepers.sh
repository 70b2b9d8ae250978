# SPDX-License-Identifier: MIT
# Calls that sleep: none is missed however many there are; a session's end and the module's removal don't wait for them;
# the stubs' module stays until the last one has returned, and names them.
[ -d /sys/module/kprobe_lua_stubs ] || lacks 'a kernel without direct calls'
calls=/sys/module/kprobe_lua_stubs/parameters/calls
target_lua
script sleepers.lua <<'LUA'
local target = require "target"
local p = kretprobe { "kpl_t_sleep", via = "direct", entry = function(p) p.data.tid = tid() end,
  ret = function(p) printf("%s\n", p.data.tid == tid() and "own" or "another's") end }
target.steps {
  function() target.call "sleep 60" end,
  function() local s = p:stats() print(s.hits, s.handled, s.missed, s.returns.hits, s.returns.outstanding) end,
}
LUA
run kprobe-lua sleepers.lua
status 0
lines 60 '^own$'
line '60	60	0	60	0'

# detached while they sleep; then the session is killed while others do
script leaves.lua <<'LUA'
local target = require "target"
local p = kretprobe { "kpl_t_sleep", via = "direct", ret = function() print "returned" end }
target.steps {
  function() target.call "hold 50" end,
  function() print("outstanding", p:stats().returns.outstanding) p:detach() end,
}
LUA
run kprobe-lua leaves.lua
status 0
line 'outstanding	50'
left_nothing
rmmod kprobe_lua || fail "the module can't be unloaded"
! rmmod kprobe_lua_stubs 2> err || fail "the stubs were unloaded under 50 calls"
[ "$(grep -c 'kpl_t_sleep.*kpl_sleeper$' $calls)" = 32 ] || { cat $calls; fail "the calls are not named"; }
# another build of the module takes the stubs that are there: sleepers come back into one that has another function now
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
script after.lua <<'LUA'
local target = require "target"
local p = kretprobe { "kpl_t_plain", via = "direct", ret = function() end }
target.steps {
  function() target.call "plain 10" end,
  function() target.call "wake" end,
  function() target.call "plain 10" end,
  function() print(p.state, p:stats().handled, p:stats().returns.hits) end,
}
LUA
run kprobe-lua after.lua
status 0
line 'direct	20	20'
no_out returned

# a name that would be another line, or another column
mkfifo gate
start kprobe-lua -e 'kretprobe { "do_wait", via = "direct", ret = function() end }'
armed
sh -c 'printf "a\n1\tb\303\244" > /proc/$$/comm; cat gate; :' &
until_true 'a name without lines and tabs' grep -q "^$!	do_wait	a?1?b??\$" $calls
echo > gate
wait $!
kill -INT "$pid"
finish

start kprobe-lua -e 'kretprobe { "kpl_t_sleep", via = "direct", entry = function(p) p.data.t = now() end, ret = function(p) printf("%d\n", p.data.t) end }'
armed
target 'hold 20'
kprobe-lua list > out 2> err || fail "list"
out "^ffffffff[0-9a-f]{8}  direct +direct +-  kpl_target:kpl_t_sleep +kprobe_lua \($pid kprobe-lua\)$"
line 'Calls in progress, which return through kprobe_lua_stubs:'
lines 20 '^    kpl_target:kpl_t_sleep \([0-9]+ kpl_sleeper\)$'
kprobe-lua -f json list > out
lines 20 '^\{"type":"call","data":\{"function":"kpl_target:kpl_t_sleep","pid":[0-9]+,"comm":"kpl_sleeper"\}\}$'
kill -KILL "$pid"
finish
left_nothing
rmmod kprobe_lua || fail "the module can't be unloaded after a kill"
target wake
unloaded() { rmmod kprobe_lua_stubs 2> err; }
until_true 'the stubs go' unloaded

# a kretprobe of what it jumps to has its own address where the call returns to
insmod "${KPL_MODULE%/*}/kprobe_lua_stubs.ko" && insmod "$KPL_MODULE" || fail "the modules can't be loaded again"
start kprobe-lua -e 'kretprobe { "kpl_t_tail", via = "direct", ret = function() end } kretprobe { "kpl_t_sleep", via = "kretprobe", ret = function() end }'
armed
target 'hold 5'
kill -TERM "$pid"
finish
rmmod kprobe_lua || fail "the module can't be unloaded under hidden calls"
[ "$(grep -c 'kpl_t_tail.*kpl_sleeper$' $calls)" = 5 ] || { cat $calls; fail "the hidden calls are not named"; }
target wake
until_true 'the stubs go after hidden calls' unloaded

# calls that the probe is not for are inside all the same, and no deaths are told of them
for declined in 'when = { comm = "nobody" }, ret = function() end' 'entry = function() return false end, ret = function() end'; do
    insmod "${KPL_MODULE%/*}/kprobe_lua_stubs.ko" && insmod "$KPL_MODULE" || fail "the modules can't be loaded again"
    start kprobe-lua -e "kretprobe { 'kpl_t_sleep', via = 'direct', $declined }"
    armed
    target 'hold 5'
    kill -TERM "$pid"
    finish
    rmmod kprobe_lua || fail "the module can't be unloaded under declined calls"
    sleep 4 # as long as it takes to look for deaths
    ! unloaded || fail "the stubs were unloaded under 5 declined calls"
    [ "$(grep -c 'kpl_t_sleep.*kpl_sleeper$' $calls)" = 5 ] || { cat $calls; fail "the declined calls are not named"; }
    target wake
    until_true 'the stubs go after declined calls' unloaded
done

# tasks that die inside never come back: they are written off, whichever CPU the session ends on
insmod "${KPL_MODULE%/*}/kprobe_lua_stubs.ko" && insmod "$KPL_MODULE" || fail "the modules can't be loaded again"
script die.lua <<'LUA'
local target = require "target"
local p = kretprobe { "kpl_t_die", via = "direct", ret = function() end }
target.steps {
  function() target.call "die 5" end,
  function() print("outstanding", p:stats().returns.outstanding) end,
}
LUA
run taskset -c 1 kprobe-lua die.lua
status 0
line 'outstanding	5'
rmmod kprobe_lua || fail "the module can't be unloaded after deaths"
until_true 'the stubs go after deaths' unloaded
dmesg | grep -q 'kprobe_lua_stubs: 5 calls of tasks that died in them' || fail "not written off"
# without the stubs, kretprobes
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
sed 's/, via = "direct"//; s/die 5/plain 5/; s/kpl_t_die/kpl_t_plain/' die.lua > none.lua
run kprobe-lua -v none.lua
status 0
line 'outstanding	0'
err 'not direct: kpl_target:kpl_t_plain: the module kprobe_lua_stubs is not loaded'
insmod "${KPL_MODULE%/*}/kprobe_lua_stubs.ko" || fail "the stubs can't be loaded again"
