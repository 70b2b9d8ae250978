# SPDX-License-Identifier: MIT
# parallel: so that one CPU takes what another one is adding to
# take() and clear() while two CPUs update: what was taken and what is left add up to the hits.
script reads.sh <<'SH'
for cpu in 0 1; do taskset -c $cpu dd if=/dev/zero of=/dev/null bs=8 count=60000 2>/dev/null & done
wait
SH
script take.lua <<'LUA'
local n, keyed, st, cleared = count(), sum(), stats(), count()
kprobe("read_zero", function(p, file, buf, size)
  n:add(); keyed[{ cpu(), comm() }]:add(size); st:add(size); cleared:add()
end)
local taken, bytes, most, times, runs = 0, 0, 0, 0, 0
local function take()
  runs = runs + 1
  local rows = keyed:take()
  for _, v in rows:pairs() do bytes = bytes + v end
  taken = taken + (n:take():value() or 0)
  local v = st:take():value()
  if v then most, times = math.max(most, v.max), times + v.count end
end
every(0.002, take)
every(0.05, function() cleared:clear() end)
at_exit(function()
  take()
  print(taken, bytes, times, most, runs > 2, cleared:value() < 120000)
  print(n:value(), keyed:take():value { 0, "dd" }, #keyed:top())
end)
LUA
run kprobe-lua --strict -c 'sh reads.sh' take.lua
status 0
line '120000	960000	120000	8	true	true'
line '0	0	0'
# A map that is full, on one CPU at first: what was taken, what is left and what was lost add up. Nothing is taken before it is full.
script lost.lua <<'LUA'
local n = count { max = 4 }
local hits, taken, runs = count(), 0, 0
kprobe("read_zero", function(p, file, buf, size)
  hits:add()
  n[size]:add()
end)
local function take()
  runs = runs + 1
  for _, v in n:take():pairs() do taken = taken + v end
end
every(0.05, function()
  if io.open("full") then take() io.open("taken", "w"):close() end
end)
at_exit(function() take() print(hits:value(), taken, runs > 1) end)
LUA
sizes='for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of=/dev/null bs=$i count=50 2>/dev/null; done'
run kprobe-lua --strict -c "taskset -c 0 sh -c '$sizes'; touch full; until [ -e taken ]; do sleep 0.1; done; $sizes; $sizes" lost.lua
status 1
lost=$(sed -n 's/^lost.lua:1: \([0-9]*\) updates lost: the map was full.*/\1/p' err)
line "1200	$((1200 - lost))	true"
