# SPDX-License-Identifier: MIT
# Probes in programs: true counts and values of functions of our own; arguments, recursion, threads, fork, longjmp, exec,
# memory that is not resident, an end in the middle; what is wrong.
echo 2 > /proc/sys/kernel/randomize_va_space # a program lies elsewhere each time
script calls.lua <<'LUA'
local adds, sums, nines, facts = count(), sum(), event(), event()
local add = uprobe { "uprobed:add", function(p, a, b) if p.arg[2] == 2 * a or b == 2 then adds:add() sums:add(a) end end }
uprobe("uprobed:nine", function(p) nines { seventh = p.arg[7], ninth = p.arg[9], func = p.func, same = p.ip == p.addr } end)
local fact = uretprobe { "uprobed:fact", entry = function(p, n) p.data.n = n end,
  ret = function(p, value) facts { n = p.data.n, value = value } end }
nines:each(function(e) print("nine", e.seventh, e.ninth, e.func, e.same) end)
facts:each(function(e) print("fact", e.n, e.value) end)
at_exit(function()
  local s = fact:stats()
  print("adds", adds:value(), sums:value(), add.state)
  print("calls", s.hits, s.handled, s.missed, s.returns.hits, s.returns.handled, s.returns.missed, s.returns.outstanding)
end)
LUA
run kprobe-lua -c 'sh -c "uprobed add 1000; uprobed nine 2; uprobed fact 5"' calls.lua
status 0
quiet_err
lines 2 '^nine	7	9	uprobed:nine	true$'
line 'adds	1000	500500	armed'
for row in '1	1' '2	2' '3	6' '4	24' '5	120'; do line "fact	$row"; done
line 'calls	5	5	0	5	5	0	0'

# threads, and what the kernel does not follow: deeper than 64 calls
run kprobe-lua -q -c 'uprobed threads 50' calls.lua
line 'calls	600	600	0	600	600	0	0'
lines 200 '^fact	3	6$'
run kprobe-lua -c 'uprobed fact 100' calls.lua
line 'calls	100	64	36	64	64	0	0'
err 'uprobed:fact .*: 100 hits = 64 handled .* 36 missed'

# fork, longjmp and exec inside
script inside.lua <<'LUA'
local returned, adds = event(), count()
local forks = uretprobe { "uprobed:forks", entry = function(p) p.data.pid = pid() end,
  ret = function(p, child) returned { child = child, same = p.data.pid == pid() } end }
local jumps = uretprobe { "uprobed:jumps", entry = function(p, n) p.data.n = n end, ret = function(p) adds["jump"]:add() end }
local execs = uretprobe { "uprobed:execs", entry = function(p) p.data.x = 1 end, ret = function(p) adds["exec"]:add() end }
local left = uretprobe { "uprobed:add", entry = function(p, a) p.data.a = a end,
  ret = function(p, sum) if sum == 3 * p.data.a then adds["sum"]:add() end end }
returned:each(function(e) print("fork", e.child, e.same) end)
at_exit(function()
  for _, probe in ipairs { forks, jumps, execs, left } do
    local s = probe:stats()
    print(probe.targets[1], s.hits, s.missed, s.returns.hits, s.returns.missed, s.returns.outstanding)
  end
  print("adds", adds:value "sum")
end)
LUA
run kprobe-lua -c 'sh -c "uprobed fork 10; uprobed jump 3000; uprobed exec 7"' inside.lua
status 0
quiet_err
lines 10 '^fork	1	true$'
lines 10 '^fork	0	false$'
line 'uprobed:forks	10	0	20	0	0'
line 'uprobed:jumps	3000	0	0	0	0'
line 'uprobed:execs	1	0	0	0	0'
line 'uprobed:add	18	0	18	0	0'
line 'adds	18'

# of one process: its children return from the same calls, and are others
script own.lua <<'LUA'
local returns, forks = count()
forks = uretprobe { "uprobed:forks", entry = function(p) p.data.pid = pid() end,
  ret = function(p) returns[pid() == p.data.pid]:add() end }
at_exit(function()
  local s = forks:stats()
  print("own", returns:value(true), returns:value(false), s.hits, s.returns.hits, s.returns.missed, s.returns.outstanding)
end)
LUA
sh -c 'until [ -e go ]; do sleep 0.05; done; exec uprobed fork 10' &
child=$!
start kprobe-lua -q -p $child own.lua
armed
touch go
wait $child
kill -INT "$pid"
finish
status 0
line 'own	10	0	10	10	0	0'

# tail calls: all return at once, the newest first; also in the child of a fork in the last one
script tail.lua <<'LUA'
local pings, all = event(), sum()
local ping = uretprobe { "uprobed:ping", entry = function(p, n) p.data.n = n p.data.to = p.ret_addr end,
  ret = function(p, value) pings { n = p.data.n, value = value, same = p.data.to == p.ret_addr } end }
local pong = uretprobe { "uprobed:pong", entry = function(p, n) p.data.n = n end, ret = function(p) all:add(p.data.n) end }
pings:each(function(e) print("ping", e.n, e.value, e.same) end)
at_exit(function()
  for _, probe in ipairs { ping, pong } do
    local s = probe:stats()
    print(probe.targets[1], s.hits, s.handled, s.missed, s.returns.hits, s.returns.missed, s.returns.outstanding)
  end
  print("pongs", all:value())
end)
LUA
run kprobe-lua -c 'uprobed tail 40' tail.lua
status 0
quiet_err
lines 21 '^ping	[0-9]+	7	true$'
[ "$(sed -n 's/^ping	\([0-9]*\).*/\1/p' out | tr '\n' ' ')" = "$(seq 0 2 40 | tr '\n' ' ')" ] || fail "not the newest first: $(cat out)"
line 'uprobed:ping	21	21	0	21	0	0'
line 'uprobed:pong	20	20	0	20	0	0'
line 'pongs	400'
run kprobe-lua -c 'uprobed tails 4' tail.lua
status 0
quiet_err
for value in 7 8; do for n in 0 2 4; do line "ping	$n	$value	true"; done; done
line 'uprobed:ping	3	3	0	6	0	0'
line 'uprobed:pong	2	2	0	4	0	0'
line 'pongs	8'

# one who only pretends that its calls are tail calls has 64 of them at most, and takes nobody else's room
script hold.lua <<'LUA'
local one = uretprobe { "uprobed:leaves", entry = function(p, n) p.data.n = n end, ret = function(p, value) end }
at_exit(function()
  local s = one:stats()
  print("leaves", s.hits, s.handled, s.missed, s.returns.handled, s.returns.missed <= 64)
end)
LUA
start kprobe-lua -q hold.lua
armed
: > holds
uprobed holds 3000 > holds &
holder=$!
until_true 'the calls' grep -q holds holds
uprobed stays 300
kill -INT "$pid"
finish
status 0
line 'leaves	3300	3300	0	300	true'
kill -9 $holder

# what the process has not in memory is brought in, before anything was done; a bad address stays one
script pages.lua <<'LUA'
local texts, done = count(), count()
local text = uprobe("uprobed:text", function(p, s) texts[ustr(s)]:add() end)
local late = uprobe("uprobed:text", function(p, s) done:add() texts["late " .. ustr(s)]:add() end)
at_exit(function()
  print(texts:value "page 1 goes on in page 2", done:value())
  local s, l = text:stats(), late:stats()
  print(s.hits, s.handled, s.faults, l.hits, l.handled + l.faults)
end)
LUA
sed -i 's/texts\["late " .. ustr(s)\]:add()/if starts(ustr(s), "page") then done:add() end/' pages.lua
run kprobe-lua -q -c 'uprobed pages 20' pages.lua
line '21	20	1	21	21'
out '^20	[0-9]+$'
err 'user memory is bad or not resident 0x10000'

# what another process would have to bring is not waited for
run kprobe-lua -q -c 'timeout 10 uprobed served' pages.lua
status 0
line '0	1'
line '1	0	1	1	1'

# killed in the middle, on both sides; nothing is left
script wait.lua <<'LUA'
local one = uretprobe { "uprobed:waits", entry = function(p) p.data.x = 1 end, ret = function(p) end }
local function tell(text) local s = one:stats() print(text, s.hits, s.returns.hits, s.returns.outstanding) end
local inside = false
every(0.05, function()
  local n = one:stats().returns.outstanding
  if n == 1 and one:stats().hits == 1 and not inside then inside = true tell "inside" end
  if n == 0 and inside then tell "gone" exit() end
end)
LUA
start kprobe-lua wait.lua
armed
: > waits
uprobed wait 1 > waits &
waiter=$!
wait_for '^inside	1	0	1$'
kill -9 $waiter
finish
status 0
line 'gone	1	0	0'

# switched off in the middle: the return is missed, also if it is on again by then
script off.lua <<'LUA'
local one = uretprobe { "uprobed:waits", entry = function(p) p.data.x = 1 end, ret = function(p) end }
every(0.05, function()
  local s = one:stats()
  if s.returns.outstanding ~= 1 then return end
  one:disable()
  one:enable()
  s = one:stats()
  print("off", s.hits, s.returns.hits, s.returns.missed, s.returns.outstanding)
  exit()
end)
LUA
run kprobe-lua -q -c 'uprobed wait 1' off.lua
line 'off	1	1	1	0'

# kprobe-lua is killed while a call is under way
: > waits
uprobed wait 1 > waits &
waiter=$!
until_true 'the call' grep -q waits waits
start kprobe-lua -e 'uretprobe("uprobed:waits", function() end) uprobe("uprobed:add", function() end)'
armed
uprobed add 5
kill -9 $pid
wait $pid
left_nothing
uprobed add 5 || fail "after kill -9"
kill -9 $waiter

# -p: others have no breakpoint; `when` asks at each hit
uprobed loop &
one=$!
uprobed loop &
other=$!
script pid.lua <<'LUA'
local seen = count()
local adds = uprobe("uprobed:add", function() seen[pid()]:add() end)
every(0.05, function()
  if (seen:value(tonumber(arg[1])) or 0) < 20 then return end
  print("pid", #seen:top(9), adds:stats().skipped)
  exit()
end)
LUA
run kprobe-lua -q -p "$one" pid.lua "$one"
status 0
line 'pid	1	0'
kill -9 "$one" "$other"
run kprobe-lua -q -c 'sh -c "uprobed add 3"' -e 'local n = count() local u = uprobe { "uprobed:add", when = { comm = "other" }, function() n:add() end } at_exit(function() print(u:stats().skipped, u:stats().hits) end)'
line '3	3'
left_nothing
