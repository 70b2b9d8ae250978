# SPDX-License-Identifier: MIT
# limit: 120
# Handlers of a million steps where the kernel takes its locks and its timer interrupts: they are disabled, the machine goes on.
script heavy.lua << 'LUA'
local calls = count()
local heavy = kprobe { arg[1], budget = 1000000, pre = function() local x = 0 while true do x = x + 1 end end }
local light = kprobe("__x64_sys_getpid", function() calls:add() end)
every(0.1, function()
  if heavy.state == "overload" then
    print(heavy.state, light.state)
    exit()
  end
end)
LUA
for name in _raw_spin_lock hrtimer_interrupt; do
    run timeout 60 kprobe-lua -v --cpu-share=25 heavy.lua "$name"
    status 0
    out "^overload	(ftrace|int3|optimized)$"
    err "^heavy.lua:2: $name: disabled after [0-9]+ hits: its handlers took [0-9]+ % of CPU [01], --cpu-share allows 25 % for all"
    no_err '^heavy.lua:3: '
    # Each handled to its cost bound, or met by another handler's.
    awk -v name="$name" '$1 == name && $4 == "hits" { n = $3; sum = 0
        for (i = 1; i < NF; i++) if ($(i + 1) ~ /^(handled|stopped|skipped|missed)$/) sum += $i
        found = 1; bad = n != sum || !n } END { exit bad || !found }' err || fail 'the account does not add up'
    left_nothing
done

# A new start: enabled again, it is disabled again.
script again.lua << 'LUA'
local heavy = kprobe { "_raw_spin_lock", budget = 1000000, pre = function() local x = 0 while true do x = x + 1 end end }
local times = 0
every(0.1, function()
  if heavy.state ~= "overload" then return end
  times = times + 1
  if times == 2 then print "twice" exit() end
  heavy:enable()
end)
LUA
run timeout 60 kprobe-lua --cpu-share=25 again.lua
status 0
line twice

# The costliest rests: the others are held to the share all the same.
script rests.lua << 'LUA'
local ffi = require "ffi"
ffi.cdef "long syscall(long, ...); int sched_setaffinity(int, size_t, const unsigned long *);"
ffi.C.sched_setaffinity(0, 8, ffi.new("unsigned long[1]", 1))
local names, numbers = { "getpriority", "getpgid", "getsid", "sched_getscheduler" }, { 140, 121, 124, 145 }
local probes, took = {}, {}
for i, name in ipairs(names) do
  local ns = sum()
  local function pre()
    local began, x = now(), 0
    while x < 50000 do x = x + 1 end
    ns:add(now() - began)
  end
  took[i] = ns
  probes[i] = kprobe { "__x64_sys_" .. name, budget = 1000000, pre = pre }
end
every(1.5, function() -- the window of what ran before is over
  for i, number in ipairs(numbers) do
    local most = i == 1 and 0.135e9 or 0.07e9 -- of 0.1 s; the first 0.05 s are estimated, and then forgotten
    repeat ffi.C.syscall(number, 0, 0) until took[i]:value() >= most or probes[i].state == "overload"
  end
  for i = 2, 4 do
    if probes[i].state == "overload" then print "held" break end
  end
  exit()
end)
LUA
run timeout 60 kprobe-lua --cpu-share=10 rests.lua
status 0
line held

# However many they are: each would have its first run.
script burst.lua <<'LUA'
local function heavy() local x = 0 while true do x = x + 1 end end
for _, i in ipairs(instructions "vfs_read") do
  if i.probe then kprobe { "vfs_read+" .. i.offset, via = "kprobe", budget = 1000000, pre = heavy } end
end
LUA
run timeout 60 kprobe-lua -v --cpu-share=1 -c 'cat /proc/version' burst.lua
status 0
err '^vfs_read .* = 0 handled \+ 0 stopped \+ 0 skipped \+ [1-9][0-9]* missed$'

# One hit runs them all: what the handlers of one place may take together is bounded, whoever's they are.
script crowd.lua << 'LUA'
local kind, nr = arg[1], tonumber(arg[2])
local function pre(p) local x = 0 while x < p.sp do x = x + 1 end end
for _ = 1, nr do
  if kind == "uprobe" then uprobe { arg[3] .. ":add", budget = 1000000, handler = pre }
  else kprobe { "read_zero", via = kind, budget = 1000000, pre = pre } end
end
every(0.01, function() print "armed" exit() end)
LUA
for kind in ftrace kprobe uprobe; do
    for _ in 1 2; do # they leave as they came
        run kprobe-lua crowd.lua "$kind" 16 "$(command -v uprobed)"
        status 0
        line armed
    done
    run kprobe-lua crowd.lua "$kind" 17 "$(command -v uprobed)"
    status 1
    err 'what all handlers there take together'
    left_nothing
done
