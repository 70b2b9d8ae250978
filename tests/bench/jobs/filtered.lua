-- SPDX-License-Identifier: MIT
-- `when` refuses each hit.
local reads = count()
kprobe { "vfs_read", pre = function() reads:add() end, when = { pid = 1 } }
