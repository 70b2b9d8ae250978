# SPDX-License-Identifier: MIT
# parallel: so that two CPUs write one entry at once
# A shared map under writers on two CPUs and in interrupts, while user space reads, iterates, sets and deletes.
script reads.sh <<'SH'
for cpu in 0 1; do taskset -c $cpu dd if=/dev/zero of=/dev/null bs=8 count=20000 2>/dev/null & done
wait
SH
script stress.lua <<'LUA'
local sums = map()
local pairs_, ticks = map(), map()
local hits, n = count(), 0
kprobe("read_zero", function(p)
  hits:add()
  sums:add(1, 1)
  local at = now() % 32
  pairs_[at] = { a = at, b = -at }
  pairs_[(at + 7) % 32] = nil
  local seen = pairs_[(at + 3) % 32]
  if seen and seen.a + seen.b ~= 0 then sums:add(99, 1) end
end)
kprobe { { "hrtimer_interrupt", "update_process_times" }, optional = true, pre = function()
  ticks:add(cpu(), 1)
  pairs_[now() % 32] = { a = 5, b = -5 }
end }
local torn, sets = 0, 0
every(0.001, function()
  for _, v in pairs_:pairs() do if v.a + v.b ~= 0 then torn = torn + 1 end end
  local k = sets % 32
  pairs_:set(k, { a = k, b = -k })
  local v = pairs_:get(k)
  if v and v.a + v.b ~= 0 then torn = torn + 1 end
  pairs_:delete((k + 1) % 32)
  sets = sets + 1
end)
at_exit(function()
  local ticked = 0
  for _, n in ticks:pairs() do ticked = ticked + n end
  print(hits:value(), sums:get(1), sums:get(99), torn, sets > 2, ticked > 0)
end)
LUA
run kprobe-lua -v -c 'sh reads.sh' stress.lua
status 0
handled=$(sed -n 's/^read_zero (.*): .* = \([0-9]*\) handled.*/\1/p' err)
missed=$(sed -n 's/^read_zero (.*): .* + \([0-9]*\) missed$/\1/p' err)
[ $((handled + missed)) = 40000 ] || fail "$handled handled + $missed missed, not 40000"
# An add is made, or given up and counted: a CPU of the VM may stop while it holds a lock.
given_up=$(sed -n 's/^stress.lua:1: \([0-9]*\) accesses given up.*/\1/p' err)
line "$handled	$((handled - ${given_up:-0}))	nil	0	true	true"
no_err 'map was full'
# Full is counted, and said with the map's line; nothing that was there is touched.
script full.lua <<'LUA'
local few = map { max = 2 }
kprobe("read_zero", function(p, file, buf, size)
  few[size] = 1
end)
at_exit(function()
  local n = 0
  for _ in few:pairs() do n = n + 1 end
  print("n=" .. n, pcall(few.set, few, 1000, 1))
end)
LUA
run kprobe-lua --strict -c 'for i in 1 2 3 4; do dd if=/dev/zero of=/dev/null bs=$i count=5 2>/dev/null; done' full.lua
status 1
out '^n=2	false	full.lua:8: the map is full: declare it with a larger max$'
err '^full.lua:1: 11 updates lost: the map was full'
