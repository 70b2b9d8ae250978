# SPDX-License-Identifier: MIT
# A session with probes of every source is killed: the kernel is as it was, and the next one can have all of it.
cat > busy.sh << 'SH'
while :; do cat /etc/passwd; done > /dev/null
SH
script all.lua <<'LUA'
local names, kernel, user, cpus, seen = count(), count(), count(), count(), event()
tracepoint("sched:*", function(p) names[p.func]:add() end)
tracepoint("kmem:kmalloc", function(p) kernel[kstack(4)]:add() end)
syscall("*", function(p) names[p.func]:add() end)
syscall { { "read", "openat" }, entry = function(p) p.data.t = now() end, ret = function(p, r) seen { ns = now() - p.data.t, r = r } end }
profile(997, function(p) kernel[kstack(4)]:add() end)
interval(0.001, function() cpus[cpu()]:add() end)
perf { "page-faults", function(p) user[ustack(3)]:add() end }
for _ = 1, 4 do watch { "jiffies_64", function(p, before, after) seen { ns = after - before, r = 0 } end } end
LUA
sh busy.sh &
busy=$!
for round in 1 2; do
    start kprobe-lua --max-probes=2000 all.lua
    armed
    kill -KILL "$pid"
    finish
    status 137
    left_nothing
    # What was forgotten somewhere would be called no more: by a machine that works.
    rmmod kprobe_lua && insmod "$KPL_MODULE" || fail "the module can't go and come back"
    head -c 1000000 /dev/zero > /dev/null
done
kill "$busy"
run kprobe-lua -q --max-probes=2000 -c true all.lua
status 0
left_nothing
