# SPDX-License-Identifier: MIT
# Marks of programs (USDT): true counts and values of a program of ours, whatever its operands; semaphores, also after
# kill -9 and of processes that start later; -p; marks of real programs.
echo 2 > /proc/sys/kernel/randomize_va_space # a program lies elsewhere each time
script values.lua <<'LUA'
local seen, sums, high, names = count(), sum(), sum(), count()
local value = usdt("usdted:usdted:value", function(p, a, b, text)
  if ustr(text) == "text" then seen:add() end
  sums:add(a)
  if b == bit.lshift(-a, 33) and p.arg[2] == b and p.args.arg1 == a and p.ip == p.addr then high:add(bit.rshift(b, 33)) end
  names[p.func]:add()
end)
local nothing = usdt("usdted:usdted:nothing", function(p) names[p.func]:add() end)
at_exit(function()
  print("values", seen:value(), sums:value(), high:value())
  for _, row in ipairs(names:top(9)) do print(row.key, row.value) end
  local hits = value:stats()
  print("stats", hits.hits, hits.handled, nothing:stats().hits)
end)
LUA
run kprobe-lua -c 'sh -c "usdted values 1000; usdted nothing 30"' values.lua
status 0
quiet_err
line 'values	1000	-500500	500500'
line 'usdted:value	1000'
line 'usdted:nothing	30'
line 'stats	1000	1000	30'
left_nothing

# every kind of operand; the same without symbols, where one of them has no address
script operands.lua <<'LUA'
local program, all = arg[1], arg[2] == "all"
usdt(program .. ":usdted:operands", function(p, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  print(a, b, c, d, e) print(f, g, h, i, j) print(k, l, m)
  if all then print(n, o) end
end)
LUA
run kprobe-lua -q -c 'usdted operands' operands.lua usdted all
status 0
line '-2	254	-128	-32514	33022'
line '-32514	4294934782	-32514	-5	44'
line '4	1985229328	152'
line '-7	4294967289'
run kprobe-lua -q -c 'usdted_stripped operands' operands.lua usdted_stripped
status 0
line '4	1985229328	152'
run kprobe-lua operands.lua usdted_stripped all
status 1
err "'arg14', which the program passes as '-4@counter\(%rip\)'"
run kprobe-lua -e 'usdt("usdted:usdted:operands", function(p) print(p.arg[16]) end)'
status 1
err "which the program passes as '8f@%xmm0'"

# a semaphore is up while a probe is armed; else nobody comes by
usdted follow > before &
before=$!
until_true 'the program' grep -qx 'semaphore 0' before
script follow.lua <<'LUA'
local seen = count()
local mark = usdt("usdted:usdted:guarded", function(p, i) seen[pid()]:add(i) end)
local step = 0
every(0.05, function()
  local n = seen:value(tonumber(arg[1])) or 0
  if step == 0 and n > 3 then mark:disable() print "disabled" step = 1
  elseif step == 1 and io.open "on" then mark:enable() print "enabled" step = 2 end
end)
LUA
start kprobe-lua follow.lua "$before"
armed
until_true 'a count of 1' grep -qx 'semaphore 1' before
wait_for '^disabled$'
last() { [ "$(tail -n 1 "$2")" = "semaphore $1" ]; }
until_true 'a count of 0' last 0 before
: > on
wait_for '^enabled$'
until_true 'a count of 1' last 1 before
usdted follow > later &
later=$!
until_true 'a count of 1 in a later process' last 1 later
# it stays up for another session, and goes down after the last one's kill -9
follower=$pid
mv out out.first
mv err err.first
script second.lua <<'LUA'
local seen, from = count()
usdt("usdted:usdted:*", function(p) seen:add() end)
every(0.05, function()
  if not io.open "gone" then return end
  from = from or seen:value()
  if seen:value() > from + 5 and os.remove "gone" then print "still" end
end)
LUA
start kprobe-lua second.lua
armed
kill -9 $follower
wait $follower
: > gone
wait_for '^still$'
last 1 before || fail 'the semaphore is not up for the second session'
last 1 later || fail 'the semaphore is not up for the second session'
kill -9 $pid
wait $pid
until_true 'a count of 0 after kill -9' last 0 before
until_true 'a count of 0 after kill -9' last 0 later
left_nothing

# -p: others have neither breakpoint nor count
script pid.lua <<'LUA'
local seen = count()
local mark = usdt("usdted:usdted:guarded", function(p) seen[pid()]:add() end)
every(0.05, function()
  if (seen:value(tonumber(arg[1])) or 0) < 20 then return end
  print("pid", #seen:top(9), mark:stats().skipped)
  exit()
end)
LUA
lines_before=$(wc -l < later)
run kprobe-lua -q -p "$before" pid.lua "$before"
status 0
line 'pid	1	0'
[ "$(wc -l < later)" = "$lines_before" ] || fail 'the count of another process changed'
kill -9 "$before" "$later"
run kprobe-lua -q -c 'usdted guarded 100' -e 'local n, s = count(), sum() usdt("usdted:usdted:guarded", function(p, i) n:add() s:add(i) end) at_exit(function() print(n:value(), s:value()) end)'
status 0
line '100	5050'

# others' marks: of a library, of a program at a fixed address with semaphores and an argument on its stack
run kprobe-lua -q -c library_cpp_test -e 'local n = count() usdt("libstdc++:libstdcxx:*", function(p) n[p.func]:add() end) at_exit(function() for _, r in ipairs(n:top(9)) do print(r.key, r.value) end end)'
out '^libstdcxx:throw	[1-9]'
out '^libstdcxx:catch	[1-9]'
echo 'import gc
gc.disable()
for i in range(25): gc.collect(1)' > collect.py
run kprobe-lua -q -c 'python3 -I -S collect.py' -e 'local n = count() usdt("python3:python:gc__start", function(p, generation) n[generation]:add() end) at_exit(function() print("collections", n:value(1)) end)'
status 0
line 'collections	25'
left_nothing
