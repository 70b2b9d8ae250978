# SPDX-License-Identifier: MIT
# Direct calls beside others on the same function: tracers on and off in either order, a kretprobe, a post handler that comes
# after or before.
[ -d /sys/module/kprobe_lua_stubs ] || lacks 'a kernel without direct calls'
tracing=/sys/kernel/tracing
target_lua
script counts.lua <<'LUA'
local target = require "target"
local n = count()
local p = kretprobe { "kpl_t_plain", ret = function(p, v) if v > 0 then n:add() end end }
local step = tonumber(arg[1])
every(0.05, function()
  local f = io.open("go" .. step)
  if not f then return end
  f:close()
  target.call "plain 100"
  local s = p:stats()
  print(step, p.state, s.handled, s.returns.hits, s.missed)
  io.stdout:flush()
  step = step + 1
  if step > 4 then exit() end
end)
LUA
step() { touch "go$1"; wait_for "^$1	"; }
trace() { echo "$1" > $tracing/current_tracer || fail "tracer $1"; }
echo 'kpl_t_*' > $tracing/set_ftrace_filter
for tracer in function function_graph; do
    # the tracer comes and goes while we are there
    rm -f go*
    start kprobe-lua counts.lua 1
    armed
    step 1
    trace $tracer
    step 2
    trace nop
    step 3
    trace $tracer
    step 4
    finish
    status 0
    for n in 1 2 3 4; do line "$n	direct	${n}00	${n}00	0"; done
    # we come and go while the tracer is there
    rm -f go*
    start kprobe-lua counts.lua 3
    armed
    step 3
    trace nop
    step 4
    finish
    status 0
    line '3	direct	100	100	0'
    line '4	direct	200	200	0'
done
echo > $tracing/set_ftrace_filter

# the kernel's own kretprobe on it, before and after
echo 'r:kpl_test kpl_t_plain $retval' > $tracing/kprobe_events
echo 1 > $tracing/events/kprobes/kpl_test/enable
rm -f go*
start kprobe-lua counts.lua 2
armed
step 2
echo 0 > $tracing/events/kprobes/kpl_test/enable
step 3
echo 1 > $tracing/events/kprobes/kpl_test/enable
step 4
echo 0 > $tracing/events/kprobes/kpl_test/enable
seen=$(grep -c 'kpl_test:.*arg1=' $tracing/trace) # before nobody knows what they are
echo > $tracing/kprobe_events
finish
line '2	direct	100	100	0'
line '4	direct	300	300	0'
[ "$seen" = 200 ] || fail "the kernel's kretprobe saw $seen"

# a post handler of somebody's: who comes second does not get the function
rm -f go*
start kprobe-lua counts.lua 3
armed
before=$(refused_to_others)
! echo 'foreign 1' 2> /dev/null > /sys/module/kpl_target/parameters/run || fail "a post handler beside a direct call"
[ "$(refused_to_others)" = $((before + 1)) ] || fail "it is not counted: $(refused_to_others), $before before"
step 3
touch go4
finish
line '4	direct	200	200	0'
target 'foreign 1'
rm -f go*
start kprobe-lua counts.lua 3
armed
step 3
touch go4
finish
target 'foreign 0' > /dev/null
out '^4	(ftrace|int3)	200	200	0$'
err 'not direct: kpl_target:kpl_t_plain: somebody else calls the function directly'

# but where the kernel's filter for post handlers is in use already, it takes the function, too: both see each call
target 'foreign 2'
rm -f go*
start kprobe-lua counts.lua 3
armed
target 'foreign 1'
step 3
touch go4
finish
line '4	direct	200	200	0'
[ "$(target 'foreign 0')" = '200 200' ] || fail "another's post handler saw $(target plain 0)"

# ftrace can't be switched off under it, and does nothing for us while it is off
start kprobe-lua counts.lua 4
rm -f go*
armed
before=$(refused_to_others)
! echo 0 > /proc/sys/kernel/ftrace_enabled 2> /dev/null || fail "ftrace was switched off under a direct call"
[ "$(refused_to_others)" = $((before + 1)) ] || fail "that is not counted: $(refused_to_others), $before before"
step 4
finish
line '4	direct	100	100	0'
