-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Draws how long processes run before they leave their CPU.",
  needs = { switch = { "finish_task_switch", "finish_task_switch.isra.0" } },
  options = {
    "interval",
    { "-O --offcpu", "how long they did not run, instead" },
    { "-P --pids", "a histogram for each process" },
    { "-p --pid PID", "this process only", kind = "id" },
    { "-m --milliseconds", "milliseconds, not microseconds" },
  },
  blocks = true,
  example = [[@@

Many short stretches are processes that wait for something, or for each other; those as long as
the scheduler's slice had their CPU taken away.]],
}

local unit = options.milliseconds and 1000000 or 1000
local since, times, wanted, per_process, off = map { max = 65536 }, hist(), options.pid or 0, options.pids, options.offcpu
local function add(t, tgid, at)
  local began = since[t]
  if not began or t == 0 or wanted ~= 0 and tgid ~= wanted then return end
  local key = 0
  if per_process then key = tgid end
  times[key]:add((at - began) / unit)
end
kprobe(options.needs.switch, function(p)
  local previous, at = ffi.cast("struct task_struct *", p.arg[1]), now()
  if off then
    add(tid(), pid(), at)
    since[previous.pid] = at
  else
    add(previous.pid, previous.tgid, at)
    since[tid()] = at
  end
end)
out:blocks(function() out:histogram(times, options.milliseconds and "msecs" or "usecs", per_process and "pid" or nil) end)
