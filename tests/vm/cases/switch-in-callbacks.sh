# SPDX-License-Identifier: MIT
# Probes and a group of them switched from event callbacks, again and again, while hits come on all CPUs: what is
# counted is what was delivered, and what is off stays off. Callbacks that come after the end may switch, too.
target_lua
script switch.lua <<'LUA'
local target = require "target"
local seen = event()
local function send(p) seen { at = p.func } end
local a = kprobe("read_zero", send)
local b = kprobe { "read_zero", pre = send, via = "kprobe" }
local c = kretprobe { "read_zero", ret = send }
local group = batch { a, b }
local n, switches = 0, 0
seen:each(function()
  n = n + 1
  if n % 20 ~= 0 then return end
  switches = switches + 1
  if switches % 4 == 1 then group:disable() elseif switches % 4 == 2 then a:enable() elseif switches % 4 == 3 then b:enable() b:disable()
  else group:enable() end
end)
local checked = false
every(0.1, function()
  if checked or switches <= 5 then return end
  checked = true
  group:disable()
  c:disable()
  local hits = a:stats().hits + b:stats().hits + c:stats().returns.hits
  os.execute "dd if=/dev/zero of=/dev/null bs=8 count=50 2> /dev/null"
  local after = a:stats().hits + b:stats().hits + c:stats().returns.hits
  print("switched", a.state, b.state, c.state)
  print("later", after - hits <= 2)       -- a call that was on its way returns
  io.open("done", "w"):close()
end)
at_exit(function() print("delivered", n == a:stats().handled + b:stats().handled + c:stats().returns.handled) end)
LUA
for _ in 1 2; do (while :; do dd if=/dev/zero of=/dev/null bs=8 count=20 2> /dev/null; sleep 0.03; done) & done
run kprobe-lua -c 'until [ -e done ]; do sleep 0.05; done' switch.lua
status 0
line 'switched	disabled	disabled	disabled'
line 'later	true'
line 'delivered	true'
