-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Draws how long processes that could run wait for a CPU.",
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
tracepoint({ "sched:sched_wakeup", "sched:sched_wakeup_new" }, function(p, t) ready[t.pid] = now() end)
tracepoint("sched:sched_switch", function(p, preempt, previous, next)
  if (preempt or previous.__state == 0) and previous.pid ~= 0 then ready[previous.pid] = now() end -- it still could run
  local at = ready[next.pid]
  if not at or next.pid == 0 then return end
  ready[next.pid] = nil
  if wanted ~= 0 and next.tgid ~= wanted then return end
  local key = 0
  if per_process then key = next.tgid end
  waits[key]:add((now() - at) / unit)
end)
out:blocks(function() out:histogram(waits, options.milliseconds and "msecs" or "usecs", per_process and "pid" or nil) end)
