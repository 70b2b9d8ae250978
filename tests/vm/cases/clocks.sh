# SPDX-License-Identifier: MIT
# Clocks and counters: on each processor, also one that goes and comes; what is interrupted; counters that are known; what is wrong.
script clocks.lua <<'LUA'
local per_cpu, kernel, ticks, faults, every_tenth, stacks = count(), count(), count(), count(), count(), count()
local samples = profile(200, function(p) per_cpu[cpu()]:add() if p.ip < 0 or p.regs.ip ~= p.ip then kernel:add() end stacks[kstack(3)]:add() end)
local period = interval(0.02, function() ticks[cpu()]:add() end)
local each = perf { "page-faults", when = { comm = "cat" }, function(p) faults:add() end }
local tenth = perf { "faults", every = 10, handler = function(p) every_tenth:add() end }
local off = profile { 99, enabled = false, function() end }
local step = 0
every(0.05, function()
  if step == 0 and per_cpu:value(0) > 3 and per_cpu:value(1) > 3 and ticks:value(0) > 3 and faults:value() > 0 then
    print("both", samples.state, period.state, off.state, off:stats().hits)
    print("one", ticks:value(1))
    os.execute "echo 0 > /sys/devices/system/cpu/cpu1/online"
    per_cpu:clear()
    step = 1
  elseif step == 1 and per_cpu:value(0) > 3 then
    print("gone", per_cpu:value(1))
    os.execute "echo 1 > /sys/devices/system/cpu/cpu1/online"
    step = 2
  elseif step == 2 and per_cpu:value(1) > 3 then
    print("back", per_cpu:value(0) > 3)
    samples:disable()
    print(samples.state)
    os.execute "cat /dev/null"
    samples:enable()
    step, before = 3, per_cpu:value(0)
  elseif step == 3 and per_cpu:value(0) > before then
    print("tenth", every_tenth:value() > 0, every_tenth:value() * 10 <= each:stats().skipped + each:stats().handled + 20)
    local s = samples:stats()
    print("account", s.hits == s.handled + s.missed)
    exit()
  end
  if step == 0 then os.execute "cat /dev/null" end
end)
LUA
run kprobe-lua -q clocks.lua
status 0
line 'both	armed	armed	disabled	0'
line 'one	0'
line 'gone	0'
line 'back	true'
line 'disabled'
out '^tenth	true'
line 'account	true'
refuses 'profile: takes a number of times in a second, 1 to 10,000' 'profile(10001, function() end)'
refuses 'profile: takes a number of times in a second, 1 to 10,000' 'profile("99", function() end)'
refuses 'interval: takes a number of seconds, 0.0001 and up' 'interval(0, function() end)'
refuses "no counter 'page-fault' \(did you mean page-faults\?\)" 'perf { "page-fault", function() end }'
refuses "instructions: every = 10 would stop the machine: 1000 at least" 'perf { "instructions", every = 10, function() end }'
refuses "can't probe cycles: this machine has no such counter" 'perf { "cycles", every = 1000000, function() end }'
refuses "a parameter after p does not exist at a clock" 'profile(99, function(p, a) end)'
refuses "p.func does not exist at a clock" 'profile(99, function(p) print(p.func) end)'
refuses "perf: 'every' must be a whole number over 0" 'perf { "faults", every = 0, function() end }'
# an administrator's bound for the samples of all holds back none: they would be 500 a second
bound=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
echo 500 > /proc/sys/kernel/perf_event_max_sample_rate
run kprobe-lua --timeout=60 -q -c 'sh -c "while :; do :; done"' -e '
local n, at, before = count(), now(), 0
profile(4000, function() if cpu() == 0 then n:add() end end)
every(0.25, function()
  local t, v = now(), n:value()
  if v - before > (t - at) / 1e9 * 750 then print "all" exit() end
  at, before = t, v
end)'
status 0
line 'all'
echo "$bound" > /proc/sys/kernel/perf_event_max_sample_rate
# a handler that takes too much of a processor is stopped as any other
run kprobe-lua -e 'profile(10000, function() for i = 1, 2000 do end end) local n = 0 every(0.1, function() n = n + 1 if n == 20 then exit() end end)'
status 0
left_nothing
