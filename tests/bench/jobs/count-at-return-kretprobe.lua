-- SPDX-License-Identifier: MIT
local reads = count()
kretprobe { "vfs_read", via = "kretprobe", ret = function() reads:add() end }
