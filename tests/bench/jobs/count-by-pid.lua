-- SPDX-License-Identifier: MIT
local reads = count()
kprobe("vfs_read", function() reads[pid()]:add() end)
