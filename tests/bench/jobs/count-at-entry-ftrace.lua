-- SPDX-License-Identifier: MIT
local reads = count()
kprobe { "vfs_read", pre = function() reads:add() end, via = "ftrace" }
