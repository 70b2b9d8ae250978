-- SPDX-License-Identifier: MIT
-- Requests to block devices, for handlers of biolatency, biosnoop and bitesize.
local disk = {}

function disk.name(rq)
  if rq.q.disk == nil then return "?" end
  return str(rq.q.disk.disk_name, 32)
end

-- REQ_OP_*, the low byte of the flags.
function disk.kind(rq)
  local op = bit.band(rq.cmd_flags, 0xff)
  local kind = "other"
  if op == 0 then kind = "read" end
  if op == 1 then kind = "write" end
  if op == 2 then kind = "flush" end
  if op == 3 then kind = "discard" end
  return kind
end

-- Who has submitted what a request began with: requests are started by whoever comes by. Stands in for an accounting
-- function that 6.1 has inlined.
function disk.submitters()
  local who = map { max = 16384 }
  kprobe("blk_mq_submit_bio", function(p, bio) who[bio] = { pid = pid(), comm = comm() } end)
  return who
end

return disk
