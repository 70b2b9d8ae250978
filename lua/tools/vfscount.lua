-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Counts calls of the kernel's functions for files, vfs_*.",
  options = { "process", "interval", "top" },
  columns = { { "ADDR", "%-16s" }, { "FUNC", "%-26s" }, { "COUNT", "%8d" } },
  blocks = true,
  example = [[@@

Which operations files see at all: vfs_getattr and vfs_statx without reads are a program that
looks for changes, vfs_fsync_range one that waits for its disk.]],
}

local calls = count()
kprobe { "vfs_*", when = options.when, pre = function(p) calls[{ p.addr, p.func }]:add() end }
out:blocks(function()
  local records = {}
  for i, row in ipairs(out.ascending(calls)) do
    records[i] = { addr = (row.key[1]:gsub("^0x", "")), func = row.key[2], count = row.value }
  end
  out:table(records)
end)
