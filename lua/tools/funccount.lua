-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "functions",
  description = "Counts calls of kernel functions, by name or glob.",
  options = {
    { "PATTERN", "functions: a name, vfs_*, ext4:* or several of these", many = true },
    "process", "interval", "top",
    { "-d --duration SECONDS", "end after so long", kind = "seconds" },
  },
  columns = { { "FUNC", "%-36s" }, { "COUNT", "%8d" } },
  blocks = true,
  example = [[
# funccount-kpl 'vfs_[rw]*' vfs_open
FUNC                                    COUNT
vfs_readlink                                2
vfs_open                                   12
vfs_write                                 201
vfs_read                                  204

Which functions of a part of the kernel are called at all, and how often: where to look
next with funclatency or stackcount. A glob of more than 1,000 functions must be asked
for: kprobe-lua --max-probes=50000 funccount '*'.]],
}

local calls = count { max = 65536 }
kprobe { options.pattern, when = options.when, pre = function(p) calls[p.func]:add() end }
if options.duration then every(options.duration, function() exit() end) end
out:blocks(function()
  local records = {}
  for i, row in ipairs(out.ascending(calls)) do records[i] = { func = row.key, count = row.value } end
  out:table(records)
end)
