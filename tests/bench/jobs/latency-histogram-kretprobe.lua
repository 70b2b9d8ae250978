-- SPDX-License-Identifier: MIT
local lat = hist()
kretprobe { "vfs_read", via = "kretprobe",
  entry = function(p) p.data.at = now() end,
  ret = function(p) lat:add(now() - p.data.at) end,
}
