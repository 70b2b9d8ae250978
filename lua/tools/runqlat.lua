-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Draws how long processes that could run wait for a CPU.",
  needs = { "ttwu_do_activate", "wake_up_new_task", switch = { "finish_task_switch", "finish_task_switch.isra.0" } },
  options = {
    "interval",
    { "-p --pid PID", "this process only", kind = "id" },
    { "-P --pids", "a histogram for each process" },
    { "-m --milliseconds", "milliseconds, not microseconds" },
  },
  blocks = true,
  example = [[
# runqlat-kpl
     usecs               : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 0        |                                        |
                         ...
        16 -> 31         : 2        |***                                     |
        32 -> 63         : 15       |**************************              |
        64 -> 127        : 23       |****************************************|
       128 -> 255        : 17       |*****************************           |
       256 -> 511        : 3        |*****                                   |
       512 -> 1023       : 0        |                                        |
      1024 -> 2047       : 1        |*                                       |

What stands far to the right has waited while others ran: too many want these CPUs, or a cgroup's
limit holds it back.]],
}

local unit, wanted, per_process = options.milliseconds and 1000000 or 1000, options.pid or 0, options.pids
local ready, waits = map { max = 65536 }, hist()
kprobe("ttwu_do_activate", function(p) ready[ffi.cast("struct task_struct *", p.arg[2]).pid] = now() end)
kprobe("wake_up_new_task", function(p, t) ready[t.pid] = now() end)
kprobe(options.needs.switch, function(p)
  local previous = ffi.cast("struct task_struct *", p.arg[1])
  if previous.__state == 0 and previous.pid ~= 0 then ready[previous.pid] = now() end -- preempted: it still could run
  local at = ready[tid()]
  if not at or tid() == 0 then return end
  ready[tid()] = nil
  if wanted ~= 0 and pid() ~= wanted then return end
  local key = 0
  if per_process then key = pid() end
  waits[key]:add((now() - at) / unit)
end)
out:blocks(function() out:histogram(waits, options.milliseconds and "msecs" or "usecs", per_process and "pid" or nil) end)
