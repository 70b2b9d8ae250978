-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows which processes sleep by the clock, and for how long.",
  needs = { "hrtimer_nanosleep" },
  options = { "process", "timestamp" },
  columns = { { "PCOMM", "%-16s" }, { "PPID", "%-7d" }, { "COMM", "%-16s" }, { "PID", "%-7d" }, { "SECONDS", "%8.3f" } },
  example = [[
# naptime-kpl
PCOMM            PPID    COMM             PID      SECONDS
sh               366     sleep            367        0.250
sh               366     sleep            368        1.000

Sleeps that a program has asked for: nanosleep and clock_nanosleep. A service that does
nothing for long is often found to be waiting by its own will. PCOMM is the parent.]],
}

local naps = event()
local monotonic = 1 -- CLOCK_MONOTONIC
kprobe { "hrtimer_nanosleep", when = options.when, pre = function(p, rqtp, mode, clock)
  local ns = rqtp
  if mode == HRTIMER_MODE_ABS then -- until a time, not for one: only now()'s clock tells how long that is
    if clock ~= monotonic then return end
    ns = rqtp - now()
    if ns < 0 then return end
  end
  naps { pcomm = str(task().real_parent.comm), ppid = ppid(), comm = comm(), pid = pid(), ns = ns }
end }
naps:each(function(e)
  e.seconds = tonumber(e.ns) / 1e9
  out.row(e)
end)
