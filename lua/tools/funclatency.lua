-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "functions",
  description = "Draws how long kernel functions take from call to return.",
  options = {
    { "PATTERN", "functions: a name, vfs_*, ext4:* or several of these", many = true },
    "process", "interval",
    { "-u --microseconds", "microseconds, not nanoseconds" },
    { "-m --milliseconds", "milliseconds, not nanoseconds" },
    { "-F --function", "a histogram for each function" },
    { "-d --duration SECONDS", "end after so long", kind = "seconds" },
  },
  blocks = true,
  example = [[
# funclatency-kpl vfs_write --comm dd
     nsecs               : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 0        |                                        |
                         ...
      4096 -> 8191       : 164      |****************************************|
      8192 -> 16383      : 8        |*                                       |
     16384 -> 32767      : 20       |****                                    |
     32768 -> 65535      : 6        |*                                       |
     65536 -> 131071     : 2        |                                        |
    131072 -> 262143     : 0        |                                        |
    262144 -> 524287     : 0        |                                        |
    524288 -> 1048575    : 1        |                                        |

avg = 14149 nsecs, total: 2844139 nsecs, count: 201

The time includes what the function waits for, and what interrupts it. One that calls itself is
measured for each call.]],
}

local unit = options.milliseconds and 1000000 or options.microseconds and 1000 or 1
local words = options.milliseconds and "msecs" or options.microseconds and "usecs" or "nsecs"
local times, total, per_function = hist(), stats(), options["function"]
kretprobe { options.pattern, when = options.when, maxactive = 256,
  entry = function(p) p.data.t0 = now() end,
  ret = function(p)
    local n = (now() - p.data.t0) / unit
    if per_function then times[p.func]:add(n) else times[0]:add(n) end
    total:add(n)
  end,
}
if options.duration then every(options.duration, function() exit() end) end
out:blocks(function()
  local sums = total:take()
  if out:histogram(times, words, per_function and "Function" or nil) == 0 then return end
  if out.json then return end
  for _, value in sums:pairs() do
    out:line ""
    out:line(("avg = %d %s, total: %d %s, count: %d"):format(value.avg, words, value.sum, words, value.count))
  end
end)
