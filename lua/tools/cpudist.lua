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
  example = [[
# cpudist-kpl
     usecs               : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 0        |                                        |
                         ...
        32 -> 63         : 5        |********                                |
        64 -> 127        : 24       |****************************************|
       128 -> 255        : 7        |***********                             |
       256 -> 511        : 1        |*                                       |
       512 -> 1023       : 1        |*                                       |
      1024 -> 2047       : 6        |**********                              |
      2048 -> 4095       : 4        |******                                  |
      4096 -> 8191       : 9        |***************                         |

Many short stretches are processes that wait for something, or for each other; those as long as
the scheduler's slice had their CPU taken away.]],
}

local dead = 0x80 -- TASK_DEAD
local unit = options.milliseconds and 1000000 or 1000
local since, times, wanted, per_process, off = map { max = 65536 }, hist(), options.pid or 0, options.pids, options.offcpu
local function add(t, tgid, at)
  local began = since[t]
  if not began then return end
  since[t] = nil
  if t == 0 or wanted ~= 0 and tgid ~= wanted then return end
  local key = 0
  if per_process then key = tgid end
  times[key]:add((at - began) / unit)
end
kprobe(options.needs.switch, function(p)
  local previous, at = ffi.cast("struct task_struct *", p.arg[1]), now()
  if off then
    add(tid(), pid(), at)
    if previous.__state ~= dead then since[previous.pid] = at end
  else
    add(previous.pid, previous.tgid, at)
    since[tid()] = at
  end
end)
out:blocks(function() out:histogram(times, options.milliseconds and "msecs" or "usecs", per_process and "pid" or nil) end)
