# SPDX-License-Identifier: MIT
# A CPU goes and comes back while a probe of each kind is armed, and is away while a session begins and ends: each call is
# counted, on the CPU that made it, and the accounts add up. So they do when the process was stopped meanwhile.
cpu1=/sys/devices/system/cpu/cpu1/online
[ -e $cpu1 ] || lacks 'no CPU that can go'
target_lua
script all.lua <<'LUA'
local names = { "ftrace", "int3", "kretprobe", "direct", "tracepoint", "watch", "uprobe", "uretprobe" }
local hits, ticks, beats, sent, got = count(), count(), count(), event { "cpu" }, { [0] = 0, 0 }
-- Each name's hits on a CPU are at 10 times its place, plus the CPU. Declared first, its clocks follow a CPU last: where they tick, everything is armed.
local clock = profile(97, function() ticks[cpu()]:add() end)
local probes = {
  ftrace = kprobe { "kpl_t_plain", via = "ftrace", pre = function() hits[10 + cpu()]:add() sent { cpu = cpu() } end },
  int3 = kprobe { "kpl_t_outer", via = "kprobe", pre = function() hits[20 + cpu()]:add() end },
  kretprobe = kretprobe { "kpl_t_inner", via = "kretprobe", entry = function(p) p.data.cpu = cpu() end,
    ret = function(p) hits[30 + cpu()]:add() end },
  direct = kretprobe { "kpl_t_six", via = "direct", entry = function(p) p.data.cpu = cpu() end,
    ret = function(p) if p.data.cpu == cpu() then hits[40 + cpu()]:add() end end },
  tracepoint = tracepoint("kpl_t_bare", function() hits[50 + cpu()]:add() end),
  watch = watch { "kpl_target:kpl_t_watched", len = 8, on = "w", function() hits[60 + cpu()]:add() end },
  uprobe = uprobe("uprobed:add", function() hits[70 + cpu()]:add() end),
  uretprobe = uretprobe { "uprobed:nine", entry = function(p) p.data.cpu = cpu() end, ret = function() hits[80 + cpu()]:add() end },
}
interval(0.05, function() beats:add() end)
sent:each(function(e) got[e.cpu] = got[e.cpu] + 1 end)
every(0.02, function()
  local asked = io.open "ask"
  if not asked then return end
  asked:close()
  os.remove "ask"
  print("ticks", ticks:value(0) or 0, ticks:value(1) or 0)
  io.stdout:flush()
end)
at_exit(function()
  for i, name in ipairs(names) do
    local s = probes[name]:stats()
    print(name, hits:value(10 * i) or 0, hits:value(10 * i + 1) or 0, s.hits - s.handled, s.returns and s.returns.hits - s.returns.handled or 0)
  end
  print("events", got[0], got[1])
  print("ticked", (ticks:value(0) or 0) > 0, (ticks:value(1) or 0) > 0, beats:value() > 0)
end)
LUA
# 30 calls of what each probe is at
calls='for what in plain outer values bare watched; do echo "$what 30" > /sys/module/kpl_target/parameters/run; done
    uprobed add 30; uprobed nine 30'
work() { taskset -c "$1" sh -c "$calls" || fail "no work on CPU $1"; }
ticks() { # on CPU 1 since the run began
    touch ask
    until_true 'an answer' [ ! -e ask ]
    until_true 'its line' grep -q ^ticks out
    sed -n '$s/^ticks	[0-9]*	//p' out
}
more_ticks() { [ "$(ticks)" -gt "$before" ]; }
off() { echo 0 > $cpu1 || fail "CPU 1 can't go"; }
on() {
    before=$(ticks)
    echo 1 > $cpu1 || fail "CPU 1 can't come"
    until_true 'clocks on CPU 1' more_ticks
}
expect() { # CALLS_ON_0 CALLS_ON_1
    kill -INT "$pid"
    finish
    status 0
    for name in ftrace int3 kretprobe direct tracepoint watch uprobe uretprobe; do line "$name	$1	$2	0	0"; done
    line "events	$1	$2"
    line 'ticked	true	true	true'
    left_nothing
}

# It is there at first, goes and comes twice.
start kprobe-lua -q -v all.lua
armed
work 0
work 1
for _ in 1 2; do
    off
    work 0
    on
    work 0
    work 1
done
expect 150 90

# The process is suspended meanwhile: what it was sent waits for it.
start kprobe-lua -q -v all.lua
armed
kill -STOP "$pid"
work 0
work 1
kill -CONT "$pid"
work 1
expect 30 60

# It is away at first, and at the end.
off
start kprobe-lua -q -v all.lua
armed
work 0
on
work 1
off
work 0
on
work 1
off
work 0
expect 90 60

# Hits where it takes no interrupts any more, or not yet: what they send comes, and the session ends.
echo 1 > $cpu1
start kprobe-lua -q -v -e 'local sent = event { "cpu" }
    kprobe { { "sched_cpu_dying", "cpuhp_report_idle_dead", "rcutree_dying_cpu", "rcu_cpu_starting", "rcutree_report_cpu_starting" },
      optional = true, via = "kprobe", pre = function() sent { cpu = cpu() } end }
    sent:each(function(e) print("sent", e.cpu) io.stdout:flush() end)'
armed
off
wait_for '^sent	1$'
echo 1 > $cpu1
kill -INT "$pid"
finish
status 0
left_nothing

# It comes back after who was armed without it has been killed, or was killed while it was away.
start kprobe-lua -q -v all.lua
armed
kill -KILL "$pid"
finish
echo 1 > $cpu1
left_nothing
start kprobe-lua -q -v all.lua
armed
off
work 0
kill -KILL "$pid"
finish
left_nothing
echo 1 > $cpu1
work 1
rmmod kprobe_lua || fail "the module can't be unloaded"
insmod "$KPL_MODULE" || fail "the module can't be loaded again"

# On and off under load, for as long as a session takes to come and go.
for _ in 1 2 3 4 5 6; do sh -c "$calls"; done &
worker=$!
while :; do echo 0 > $cpu1; echo 1 > $cpu1; done 2> /dev/null &
switcher=$!
start kprobe-lua -q -v all.lua
armed
work 0
kill -INT "$pid"
finish
status 0
awk -F'\t' 'NF == 5 && $4 + $5' out > lost
[ ! -s lost ] || fail "accounts that do not add up: $(cat lost)"
kill "$switcher"
wait "$switcher"
echo 1 > $cpu1
wait "$worker"
left_nothing
