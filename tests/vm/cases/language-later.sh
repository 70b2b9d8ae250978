# SPDX-License-Identifier: MIT
# Probes that a callback declares join what is armed: their events and maps keep their layouts.
script later.lua <<'LUA'
local c, ev, state = count(), event(), map()
kprobe("read_null", function(p) ev { n = 1, what = "null" } state[comm()] = { n = 1 } end)
ev:each(function(e) print("ev", e.n, e.what) end)
local done = false
every(0.2, function()
  if done then return end
  done = true
  kprobe("read_zero", function(p, f, b, n)
    c[comm()]:add()
    ev { n = n, what = "zero" }
    local s = state[comm()]
    printf("hit %d %d\n", n, s and s.n or 0)
  end)
  print("armed")
end)
at_exit(function() print("counted", c:value("dd")) end)
LUA
run kprobe-lua -c 'dd if=/dev/null of=/dev/null count=1 2>/dev/null; until grep -q armed out; do sleep 0.1; done; dd if=/dev/zero of=/dev/null bs=16 count=2 2>/dev/null' later.lua
status 0
line 'ev	1	null'
lines 2 '^ev	16	zero$'
lines 2 '^hit 16 1$'
line 'counted	2'

script misfit.lua <<'LUA'
local ev = event()
kprobe("read_null", function(p) ev { n = 1 } end)
every(0.2, function() kprobe("read_zero", function(p) ev { n = 1, more = 2 } end) end)
LUA
run kprobe-lua -c 'sleep 1000' misfit.lua
status 1
err '^misfit.lua:3: ev.more is new, and armed handlers have fixed the fields \(n\): '
[ "$(sed -n '2,$p' err)" = "stack traceback:
    misfit.lua:3: in the function of line 3" ] || fail 'more than the error and where it was'
