-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Draws how long ext4's reads, writes, opens and syncs take.",
  needs = { "ext4_file_read_iter", "ext4_file_write_iter", "ext4_file_open", "ext4_sync_file" },
  instead = "is the module ext4 loaded? funclatency vfs_read shows the reads of all file systems",
  options = { "process", "interval", { "-m --milliseconds", "milliseconds, not microseconds" } },
  blocks = true,
  example = [[
# ext4dist-kpl
operation = open
     usecs               : count     distribution
         0 -> 1          : 0        |                                        |
         2 -> 3          : 0        |                                        |
                         ...
       128 -> 255        : 1        |****************************************|

operation = write

Two humps are two ways: the lower one is the cache, the upper one the disk.]],
}

local unit, times = options.milliseconds and 1000000 or 1000, hist()
for _, operation in ipairs(require "kprobe.ext4") do
  local name = operation.name
  kretprobe { operation.func, when = options.when, maxactive = 256,
    entry = function(p) p.data.t0 = now() end,
    ret = function(p) times[name]:add((now() - p.data.t0) / unit) end,
  }
end
out:blocks(function() out:histogram(times, options.milliseconds and "msecs" or "usecs", "operation") end)
