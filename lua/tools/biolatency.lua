-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "disks",
  description = "Draws how long disks take for what they are asked.",
  needs = { "blk_mq_start_request", "blk_account_io_done" },
  options = {
    "interval",
    { "-Q --queued", "count the time in the kernel's queues, too" },
    { "-m --milliseconds", "milliseconds, not microseconds" },
    { "-D --disks", "a histogram for each disk" },
    { "-F --flags", "a histogram for each kind: read, write, flush, discard" },
  },
  blocks = true,
  example = [[
# biolatency-kpl
     usecs               : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 0        |                                        |
                         ...
        64 -> 127        : 178      |****************************************|
       128 -> 255        : 16       |***                                     |
       256 -> 511        : 5        |*                                       |
       512 -> 1023       : 1        |                                        |
      1024 -> 2047       : 1        |                                        |
      2048 -> 4095       : 0        |                                        |
      4096 -> 8191       : 1        |                                        |

Two humps are two kinds of answers: a cache's and a disk's, or reads and writes (-F tells).
With -Q, what stands before a disk that is busy counts, too.]],
}

local disk = require "kprobe.disk"
local unit, per_disk, per_kind = options.milliseconds and 1000000 or 1000, options.disks, options.flags
local issued, times = map { max = 16384 }, hist()
if not options.queued then
  kprobe("blk_mq_start_request", function(p, rq) issued[rq] = now() end)
end
kprobe("blk_account_io_done", function(p, rq)
  local began
  if options.queued then
    began = ffi.cast("int64_t", rq.start_time_ns)
  else
    began = issued[rq] or 0
    issued[rq] = nil
  end
  if began ~= 0 then -- 0 as well where the kernel keeps no times
    local us = (now() - began) / unit
    if per_disk and per_kind then times[{ disk.name(rq), disk.kind(rq) }]:add(us) end
    if per_disk and not per_kind then times[disk.name(rq)]:add(us) end
    if per_kind and not per_disk then times[disk.kind(rq)]:add(us) end
    if not per_disk and not per_kind then times:add(us) end
  end
end)
local label = per_disk and per_kind and "disk, kind" or per_disk and "disk" or per_kind and "kind" or nil
out:blocks(function() out:histogram(times, options.milliseconds and "msecs" or "usecs", label) end)
