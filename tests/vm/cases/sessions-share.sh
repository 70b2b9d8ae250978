# SPDX-License-Identifier: MIT
# limit: 900
# Sessions at the same functions share an ftrace_ops (tests/vm/abi/share_tests.c has them in pairs): beside the kernel's own
# tracers, with one that takes too much and is disabled, while the functions' module goes, and when ours does.
tracing=/sys/kernel/tracing
target_lua
script counts.lua <<'LUA'
local target = require "target"
local n, others = count(), count()
local name = arg[1]
local p = kprobe("kpl_t_plain", function() n:add() end)
kprobe("kpl_t_*", function(p) others[p.func]:add() end)
every(0.02, function()
  local f = io.open("end-" .. name)
  if not f then return end
  f:close()
  print(name, p.state, n:value(), p:stats().missed)
  exit()
end)
LUA
begin() { # NAME
    rm -f "end-$1"
    mkdir -p "$1"
    : > "$1/err" # what an earlier run wrote is not waited for
    kprobe-lua -v counts.lua "$1" > "$1/out" 2> "$1/err" < /dev/null &
    eval "pid_$1=$!"
    pid=$!
    armed "$1/err"
}
ended() { # NAME HITS
    touch "end-$1"
    eval "wait \$pid_$1" || fail "$1: $(cat "$1/err")"
    grep -Fxq "$1	ftrace	$2	0" "$1/out" || fail "$1 should have $2: $(cat "$1/out" "$1/err")"
}
users() { sed -nE 's/^kpl_t_plain .*\(([0-9]+)\).*/\1/p' $tracing/enabled_functions; }
shared_by() { [ "$(users)" = "$1" ] || fail "$(users) ftrace_ops are for the function, not $1"; }

# one is killed, one comes later, with tracers on and off
echo 'kpl_t_*' > $tracing/set_ftrace_filter
for tracer in nop function function_graph; do
    begin one
    begin two
    shared_by 1
    target 'plain 100' > /dev/null
    echo $tracer > $tracing/current_tracer || fail "tracer $tracer"
    target 'plain 100' > /dev/null
    kill -9 $pid_one
    wait $pid_one
    target 'plain 100' > /dev/null
    begin three
    target 'plain 100' > /dev/null
    echo nop > $tracing/current_tracer
    shared_by 1
    ended two 400
    target 'plain 100' > /dev/null
    ended three 200
    left_nothing
done
echo > $tracing/set_ftrace_filter

# one takes too much: the other one's probe goes on
script heavy.lua << 'LUA'
local heavy = kprobe { "kpl_t_plain", budget = 1000000, pre = function() local x = 0 while true do x = x + 1 end end }
local target = require "target"
every(0.02, function()
  if heavy.state == "overload" then print(heavy.state) exit() end
  target.call "plain 20"
end)
LUA
begin one
run timeout 100 kprobe-lua --cpu-share=25 heavy.lua
status 0
line overload
shared_by 1
begin two
target 'plain 100' > /dev/null
ended two 100
touch end-one
wait $pid_one || fail "one: $(cat one/err)"
grep -Eq '^one	ftrace	[0-9]+	0$' one/out || fail "one: $(cat one/out one/err)"
left_nothing

# the functions go, and come back
begin one
begin two
rmmod kpl_target || fail "the target can't be unloaded"
for name in one two; do
    until_true "$name sees it" grep -q 'kpl_t_plain: .*the probe is gone' $name/err
done
target 'plain 100' > /dev/null
begin three
target 'plain 100' > /dev/null
ended three 100
for name in one two; do
    touch end-$name
    eval "wait \$pid_$name"
    grep -Fxq "$name	gone	0	0" $name/out || fail "$name: $(cat $name/out)"
done
left_nothing
rmmod kprobe_lua || fail "the module can't be unloaded"
insmod "$KPL_MODULE" || fail "the module can't be loaded again"
