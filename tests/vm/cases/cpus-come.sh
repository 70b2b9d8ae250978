# SPDX-License-Identifier: MIT
# A CPU that is not up when a session begins takes no memory; when it comes, all that it records is there. What it records
# when there is none for it is lost, and said.
cpu1=/sys/devices/system/cpu/cpu1/online
percent=/sys/module/kprobe_lua/parameters/memory_percent
[ -e $cpu1 ] || lacks 'no CPU that can go'
target > /dev/null
script all.lua <<'LUA'
local n, keyed, powers, stat, sent = count(), count(), hist(), stats(), event { "cpu" }
local got = {}
kprobe("kpl_t_plain", function()
  n:add()
  keyed[cpu()]:add()
  powers:add(cpu() + 1)
  stat:add(cpu())
  sent { cpu = cpu() }
end)
sent:each(function(e) got[e.cpu] = (got[e.cpu] or 0) + 1 end)
at_exit(function()
  local s = stat:value()
  print("all", n:value(), keyed:value(0) or 0, keyed:value(1) or 0, s.count, s.sum, got[0] or 0, got[1] or 0)
  print(powers)
end)
LUA
free() { awk '/^MemAvailable:/ { print $2 }' /proc/meminfo; }
work() { taskset -c "$1" sh -c "echo plain $2 > /sys/module/kpl_target/parameters/run" || fail "no work on CPU $1"; }

echo 0 > $cpu1 || fail "CPU 1 can't go"
before=$(free)
start kprobe-lua --strict -q -v --buffer 64M all.lua
armed
[ $((before - $(free))) -lt 120000 ] || fail "one CPU's ring of 64 MB takes $((before - $(free))) KB"
work 0 100
echo 1 > $cpu1 || fail "CPU 1 can't come"
work 1 300
work 0 10
kill -INT "$pid"
finish
status 0
line 'all	410	110	300	410	300	110	300'
left_nothing

echo 0 > $cpu1
start kprobe-lua -q -v --buffer 1M all.lua
armed
echo 0 > $percent
echo 1 > $cpu1 || fail "CPU 1 can't come"
echo 25 > $percent
work 0 100
work 1 300
kill -INT "$pid"
finish
line 'all	100	100	0	100	0	100	0'
err '^events: 400 sent = 100 delivered \+ 300 lost'
err '300 updates lost: there was no memory for it on a CPU that came up'
left_nothing
# with rings that grow, it takes the one that was made ahead
echo 0 > $cpu1
start kprobe-lua -q -v all.lua
armed
echo 0 > $percent
echo 1 > $cpu1 || fail "CPU 1 can't come"
echo 25 > $percent
work 1 300
kill -INT "$pid"
finish
out '^all	0	0	0	0	0	0	300$'
err '^events: 300 sent = 300 delivered \+ 0 lost'
left_nothing
