# SPDX-License-Identifier: MIT
# This machine has one CPU. Where "lock" stood, the kernel has put another prefix, and would put "lock" back, but not behind a
# breakpoint, when a second CPU came: no probe there.
script lock.lua <<'LUA'
local probes, elided, armed = {}, 0, 0
for _, f in ipairs { "fput", "mutex_trylock", "down_read_trylock", "down_write_trylock", "wake_q_add", "mutex_unlock" } do
  for _, i in ipairs(instructions(f)) do
    local at = ("%s+%d"):format(f, i.offset)
    probes[#probes + 1] = { at = at, i = i, kprobe { at, optional = true, via = "kprobe", pre = function() end } }
  end
end
every(0.1, function()
  for _, p in ipairs(probes) do
    local refused = p[1].state == "disabled"
    assert(refused == not p.i.probe, ("%s: %s, but %s"):format(p.at, p.i.probe_why or "may be probed", p[1].state))
    if not refused then armed = armed + 1 end
    if (p.i.probe_why or ""):find("may stand for lock", 1, true) then elided = elided + 1 end
  end
  print(elided, armed)
  exit()
end)
LUA
[ "$(grep -c ^processor /proc/cpuinfo)" = 1 ] || fail 'more than one CPU'
run kprobe-lua lock.lua
status 0
out '^([3-9]|[1-9][0-9])	[1-9][0-9]+$'
