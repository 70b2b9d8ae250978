# SPDX-License-Identifier: MIT
# When events are delivered: after a pause at once, then in batches bounded by time and by how full a ring is.
script delay.lua <<'LUA'
local seen, n = event(), 0
kprobe("read_zero", function() seen { pid = pid(), comm = comm() } end)
seen:each(function(e)
  n = n + 1
  print(n, now() - e.time < 1500000000 and "soon" or "late")
end)
LUA
# Three events, each sent when the one before it has been delivered.
workload='for i in 1 2 3; do dd if=/dev/zero of=/dev/null bs=1 count=1 2>/dev/null; until grep -q "^$i" out; do sleep 0.05; done; done'
run kprobe-lua --wake-latency 4000 -c "$workload" delay.lua
line '1	soon'
line '2	late'
run kprobe-lua --wake-latency 60000 --wake-fill 1 --buffer 4K -c "$workload" delay.lua
line '1	soon'
line '2	soon'
line '3	soon'
run kprobe-lua --wake-latency 0 -c "$workload" delay.lua
line '3	soon'
run kprobe-lua -c "$workload" delay.lua
line '3	soon'
# A consumer that stands still: half a ring wakes it in vain, a full one loses; when it goes on, the sums hold.
script stand.lua <<'LUA'
local seen, n = event(), 0
kprobe("read_zero", function() seen { pid = pid() } end)
seen:each(function() n = n + 1 if n == 1 then print "goes on" end end)
at_exit(function() print("n=" .. n) end)
LUA
start kprobe-lua -v --buffer 16K stand.lua
armed
kill -STOP "$pid"
taskset -c 1 dd if=/dev/zero of=/dev/null bs=1 count=3000 2>/dev/null
kill -CONT "$pid"
wait_for 'goes on'
taskset -c 0 dd if=/dev/zero of=/dev/null bs=1 count=100 2>/dev/null
kill -INT "$pid"
finish
status 0
err '^read_zero \([^ ]+:[0-9]+\): 3100 hits = 3100 handled'
awk -F'[ +=]+' '/^events:/ { n++; if ($2 != 3100 || $2 != $4 + $6 || $6 < 1000 || $4 < 100) exit 1 } END { exit n != 1 }' err || fail 'the sum is wrong'
line "n=$(sed -n 's/^events: .* = \([0-9]*\) delivered.*/\1/p' err)"
# Killed with a full ring.
start kprobe-lua --buffer 4K stand.lua
armed
kill -STOP "$pid"
dd if=/dev/zero of=/dev/null bs=1 count=1000 2>/dev/null
kill -KILL "$pid"
finish
left_nothing
