-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "memory",
  description = "Counts pages that come back from swap, by process.",
  needs = { read = { "swap_read_folio", "swap_readpage" } },
  options = { "process", "interval", "top" },
  columns = { { "COMM", "%-16s" }, { "PID", "%-7d" }, { "COUNT", "%8d" } },
  blocks = true,
  example = [[
# swapin-kpl
COMM             PID        COUNT
luajit           325          256

Each is a wait for the swap device: these processes are slow for want of memory. Pages that
are read ahead count as well.]],
}

local reads = count()
kprobe { options.needs.read, when = options.when, pre = function() reads[{ comm(), pid() }]:add() end }
out:blocks(function()
  local records = {}
  for i, row in ipairs(out.ascending(reads)) do records[i] = { comm = row.key[1], pid = row.key[2], count = row.value } end
  out:table(records)
end)
