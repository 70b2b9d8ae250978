-- SPDX-License-Identifier: MIT
-- enum wb_reason
local reasons = { [0] = "background", "vmscan", "sync", "periodic", "laptop_timer", "fs_free_space", "forker_thread", "foreign_flush" }

local _, out = require "kprobe.tool" {
  subject = "disks",
  description = "Shows when the kernel writes files that wait in memory, why, and for how long.",
  needs = { "wb_writeback" },
  columns = { { "TIME", "%-8s" }, { "DEVICE", "%-8s" }, { "PAGES", "%-8d" }, { "REASON", "%-16s" }, { "ms", "%.3f" } },
  example = [[
# writeback-kpl
TIME     DEVICE   PAGES    REASON           ms
06:59:45 7:0      64       sync             11.605
06:59:45 7:0      4        sync             0.136
06:59:45 7:0      0        periodic         0.004

periodic is what is older than 30 seconds, background what is more than a part of memory, sync
what was asked for. Long ones keep a disk busy for others.]],
}

local written = event()
kretprobe { "wb_writeback",
  entry = function(p, wb, work)
    p.data.t0, p.data.reason, p.data.device = now(), work.reason, str(wb.bdi.dev_name, 32)
  end,
  ret = function(p, pages)
    written { device = p.data.device, pages = pages, reason_number = p.data.reason, ns = now() - p.data.t0 }
  end,
}
written:each(function(e)
  e.reason, e.ms = reasons[e.reason_number] or e.reason_number, tonumber(e.ns) / 1e6
  out.row(e)
end)
