-- SPDX-License-Identifier: MIT
local _, out = require "kprobe.tool" {
  subject = "processes",
  description = "Counts new processes and threads a second.",
  needs = { "wake_up_new_task" },
  options = { "interval" },
  columns = { { "TIME", "%-8s" }, { "PIDS/s", "%8d" } },
  example = [[
# pidpersec-kpl
TIME       PIDS/s
06:59:49        7
06:59:50        6
06:59:51        5

A rate that is high all the time is a script in a loop, or a service that fails and is
started again: execsnoop shows which.]],
}

local born = count()
kprobe("wake_up_new_task", function() born:add() end)
out:ticks(function(seconds)
  local n = 0
  for _, value in born:take():pairs() do n = tonumber(value) end
  return { pids_s = math.floor(n / seconds + 0.5) }
end)
