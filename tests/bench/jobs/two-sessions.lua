-- SPDX-License-Identifier: MIT
-- The function that another session, of this very script, counts at.
local reads = count()
kprobe { "vfs_read", pre = function() reads:add() end, via = "ftrace" }
