-- SPDX-License-Identifier: MIT
local lat = hist()
syscall { "read",
  entry = function(p) p.data.at = now() end,
  ret = function(p) lat:add(now() - p.data.at) end,
}
