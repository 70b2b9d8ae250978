-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows reads and writes of files that took long.",
  needs = { "vfs_read", "vfs_write" },
  options = {
    "process",
    { "-a --all-files", "whatever is read and written, not regular files alone" },
    { "MIN_MS", "from so many milliseconds on; 0 is each", kind = "whole", optional = true, default = 10 },
  },
  columns = {
    { "TIME(s)", "%-8.3f" }, { "COMM", "%-16s" }, { "TID", "%-7d" }, { "D", "%-1s" }, { "BYTES", "%-7d" }, { "LAT(ms)", "%7.2f" },
    { "FILENAME", "%s" },
  },
  example = [[
# fileslower-kpl 1
TIME(s)  COMM             TID     D BYTES   LAT(ms) FILENAME
0.503    dd               203     W 1048576   45.25 f
0.547    dd               203     W 1048576   42.61 f
0.576    dd               203     W 1048576   28.42 f
0.608    dd               203     W 1048576   32.06 f
0.640    dd               203     W 1048576   31.28 f
0.671    dd               203     W 1048576   30.60 f
0.717    dd               203     W 1048576   45.30 f
0.754    dd               203     W 1048576   36.05 f

What an application has waited for, as it sees it: the cache, the file system and the disk
together, and time on a full CPU as well. biosnoop shows the disk's part.]],
}

local least, regular, slow = options.min_ms * 1000000, 0x8000, event()
local function trace(name, direction)
  kretprobe { name, when = options.when, maxactive = 256,
    entry = function(p, file)
      if not options.all_files and bit.band(file.f_inode.i_mode, 0xf000) ~= regular then return false end
      p.data.file, p.data.t0 = file, now()
    end,
    ret = function(p, n)
      local ns = now() - p.data.t0
      if ns < least then return end
      slow { comm = comm(), tid = tid(), d = direction, bytes = n, ns = ns, filename = str(p.data.file.f_path.dentry.d_name.name) }
    end,
  }
end
trace("vfs_read", "R")
trace("vfs_write", "W")
slow:each(function(e)
  e.lat_ms = tonumber(e.ns) / 1e6
  out.row(e)
end)
