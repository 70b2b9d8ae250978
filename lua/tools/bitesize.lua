-- SPDX-License-Identifier: MIT
local _, out = require "kprobe.tool" {
  subject = "disks",
  description = "Draws how large requests to disks are, by who makes them.",
  needs = { "blk_mq_submit_bio", "blk_mq_start_request" },
  options = { "interval" },
  blocks = true,
  example = [[
# bitesize-kpl
Process Name = dd
     Kbytes              : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 0        |                                        |
         4 -> 7          : 0        |                                        |
         8 -> 15         : 30       |****************************************|

Many small ones cost a disk more than a few large ones: a buffer that is too small, or syncs
after each line.]],
}

local disk = require "kprobe.disk"
local who, sizes = disk.submitters(), hist()
kprobe("blk_mq_start_request", function(p, rq)
  local name, by = comm(), who[rq.bio]
  if by then
    name = by.comm
    who[rq.bio] = nil
  end
  if rq.__data_len > 0 then sizes[name]:add(rq.__data_len / 1024) end
end)
out:blocks(function() out:histogram(sizes, "Kbytes", "Process Name") end)
