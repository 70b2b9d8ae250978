-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows who has files written to their disks.",
  options = { "process" },
  columns = { { "TIME(s)", "%-18.6f" }, { "PID", "%-7d" }, { "COMM", "%-16s" }, { "CALL", "%s" } },
  example = [[
# syncsnoop-kpl
TIME(s)            PID     COMM             CALL
0.124831           171     dd               fsync
0.391242           173     sync             sync

Each of these calls may wait for a disk. A database does them for a purpose; a program that does
them at every line of its log is slow for it.]],
}

local syncs = event()
syscall { { "sync", "fsync", "fdatasync", "msync", "sync_file_range", "syncfs" }, when = options.when,
  entry = function(p) syncs { pid = pid(), comm = comm(), call = p.func, time = now() } end }
syncs:each(out.row)
