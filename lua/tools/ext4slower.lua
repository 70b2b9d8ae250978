-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows ext4's reads, writes, opens and syncs that took long.",
  needs = { "ext4_file_read_iter", "ext4_file_write_iter", "ext4_file_open", "ext4_sync_file" },
  instead = "is the module ext4 loaded? fileslower shows those of all file systems",
  options = { "process", { "MIN_MS", "from so many milliseconds on; 0 is each", kind = "whole", optional = true, default = 10 } },
  columns = {
    { "TIME", "%-8s" }, { "COMM", "%-14s" }, { "PID", "%-6d" }, { "T", "%-1s" }, { "BYTES", "%-7d" }, { "OFF_KB", "%-8d" },
    { "LAT(ms)", "%7.2f" }, { "FILENAME", "%s" },
  },
  example = [[
# ext4slower-kpl 0
TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME
06:57:45 sh             193    O 0       0           0.10 f1
06:57:45 sh             193    W 11      0           0.72 f1
06:57:45 sh             193    O 0       0           0.01 f2
06:57:45 sh             193    W 11      0           0.15 f2
06:57:45 sh             193    O 0       0           0.00 f3
06:57:45 sh             193    W 11      0           0.09 f3
06:57:45 cat            194    O 0       0           0.06 f1
06:57:45 dd             195    O 0       0           0.04 f2
06:57:45 dd             195    S 0       0           2.99 f2

T is R for a read, W a write, O an open, S a sync. Syncs wait for the disk; a slow read that
biosnoop does not show was one of the cache, on a busy CPU.]],
}

local least, slow = options.min_ms * 1000000, event()
for _, operation in ipairs(require "kprobe.ext4") do
  local letter, by_iocb, file_of = operation.letter, operation.by_iocb, operation.file
  kretprobe { operation.func, when = options.when, maxactive = 256,
    entry = function(p)
      p.data.file, p.data.offset = file_of(p), 0
      if by_iocb then p.data.offset = p.args.iocb.ki_pos / 1024 end
      p.data.t0 = now()
    end,
    ret = function(p, n)
      local ns = now() - p.data.t0
      if ns < least then return end
      slow {
        comm = comm(), pid = pid(), t = letter, bytes = n, off_kb = p.data.offset, ns = ns,
        filename = str(p.data.file.f_path.dentry.d_name.name),
      }
    end,
  }
end
slow:each(function(e)
  e.lat_ms = tonumber(e.ns) / 1e6
  if e.t == "O" or e.t == "S" then e.bytes = 0 end
  out.row(e)
end)
