-- SPDX-License-Identifier: MIT
local reads = count()
kretprobe("vfs_read", function() reads:add() end)
