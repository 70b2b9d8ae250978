-- SPDX-License-Identifier: MIT
-- Nobody reads the events: what is counted is what the handler does.
local reads = event()
kprobe("vfs_read", function() reads { pid = pid(), comm = comm() } end)
