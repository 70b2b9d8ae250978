-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Counts calls of the kernel's functions for files, vfs_*.",
  options = { "process", "interval", "top" },
  columns = { { "ADDR", "%-16s" }, { "FUNC", "%-26s" }, { "COUNT", "%8d" } },
  blocks = true,
  example = [[
# vfscount-kpl --top 8
ADDR             FUNC                          COUNT
ffffffff94c600e0 vfs_readlink                      3
ffffffff94c45480 vfs_read                          8
ffffffff94c4e710 vfs_fstat                         8
ffffffff94c41bf0 vfs_open                         14
ffffffff94c4e510 vfs_statx_path                   16
ffffffff94c4d910 vfs_getattr_nosec                24
ffffffff94c4e600 vfs_statx                        36
ffffffff94c4e9b0 vfs_fstatat                      44

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
