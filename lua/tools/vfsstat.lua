-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Counts calls of the file system a second: reads, writes, syncs, opens, creations.",
  options = { "interval", "process" },
  columns = {
    { "TIME", "%-8s" }, { "READ/s", "%9d" }, { "WRITE/s", "%8d" }, { "FSYNC/s", "%8d" }, { "OPEN/s", "%8d" }, { "CREATE/s", "%8d" },
  },
  example = [[
# vfsstat-kpl
TIME        READ/s  WRITE/s  FSYNC/s   OPEN/s CREATE/s
07:03:54         5        1        0       10        0
07:03:55         5        1        0        6        0
07:03:56         3        1        0        5        0
07:03:57         3        1        0        5        0
07:03:58        10        5        0        0        0

What files are busy with, before it is asked by whom: reads include those of pipes,
sockets and /proc. fileslower and vfscount look closer.]],
}

local calls = count()
local functions = { vfs_read = "read_s", vfs_write = "write_s", vfs_fsync_range = "fsync_s", vfs_open = "open_s", vfs_create = "create_s" }
for name, rate in pairs(functions) do kprobe { name, when = options.when, pre = function() calls[rate]:add() end } end
out:ticks(function(seconds)
  local row = { read_s = 0, write_s = 0, fsync_s = 0, open_s = 0, create_s = 0 }
  for rate, n in calls:take():pairs() do row[rate] = math.floor(tonumber(n) / seconds + 0.5) end
  return row
end)
