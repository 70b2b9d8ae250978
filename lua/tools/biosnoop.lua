-- SPDX-License-Identifier: MIT
local options, out, fail = require "kprobe.tool" {
  subject = "disks",
  description = "Shows each request to a disk, who has made it, and how long it took.",
  needs = { "blk_mq_submit_bio", "blk_mq_start_request", "blk_account_io_done" },
  options = {
    { "-Q --queued", "show the time in the kernel's queues, too" },
    { "-d --disk DISK", "this disk only, sda" },
  },
  columns = {
    { "TIME(s)", "%-11.6f" }, { "COMM", "%-14s" }, { "PID", "%-7d" }, { "DISK", "%-9s" }, { "T", "%-1s" }, { "SECTOR", "%-10d" },
    { "BYTES", "%-7d" }, { "QUE(ms)", "%7.2f", only = "queued" }, { "LAT(ms)", "%7.2f" },
  },
  example = [[
# biosnoop-kpl
TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)
1.266768    dd             183     loop0     R 8          1024       0.97
1.366473    dd             183     loop0     W 1026       12288     12.43
1.369127    dd             183     loop0     W 12         1024       0.56
1.371545    dd             183     loop0     W 522        1024       0.51
1.382281    kworker/1:1H   69      loop0     F -1         0          0.40
1.414980    dd             184     loop0     W 2          3072       0.71
1.415640    dd             184     loop0     R 0          4096       0.19
1.417566    dd             184     loop0     W 8          2048       0.43
1.417910    dd             184     loop0     R 8          4096       0.13
1.418172    dd             184     loop0     R 16         4096       0.12

T is R for a read, W a write, F a flush, D a discard. Sectors that follow each other were read in
order. What the kernel writes later is shown as a kworker's.]],
}

local disk = require "kprobe.disk"
if options.disk then
  local file = io.open("/sys/class/block/" .. options.disk .. "/dev")
  if not file then fail("no disk '%s'", options.disk) end
  file:close()
  local partition = io.open("/sys/class/block/" .. options.disk .. "/partition")
  if partition then fail("%s is a partition; requests are to its disk: give that", options.disk) end
end
local who, issued, done = disk.submitters(), map { max = 16384 }, event()
local wanted = options.disk or ""
kprobe("blk_mq_start_request", function(p, rq)
  local name = disk.name(rq)
  local e = { at = now(), bytes = rq.__data_len, sector = ffi.cast("int64_t", rq.__sector), disk = name, pid = pid(), comm = comm() }
  local by = who[rq.bio]
  if by then
    e.pid, e.comm = by.pid, by.comm
    who[rq.bio] = nil
  end
  if wanted ~= "" and name ~= wanted then return end
  issued[rq] = e
end)
kprobe("blk_account_io_done", function(p, rq)
  local i = issued[rq]
  if i then
    done {
      comm = i.comm, pid = i.pid, disk = i.disk, kind = disk.kind(rq), sector = i.sector, bytes = i.bytes,
      ns = now() - i.at, queued = i.at - ffi.cast("int64_t", rq.start_time_ns),
    }
    issued[rq] = nil
  end
end)
done:each(function(e)
  e.t, e.lat_ms, e.que_ms = e.kind:sub(1, 1):upper(), tonumber(e.ns) / 1e6, tonumber(e.queued) / 1e6
  out.row(e)
end)
