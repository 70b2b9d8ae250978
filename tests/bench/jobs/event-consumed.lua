-- SPDX-License-Identifier: MIT
local reads = event()
kprobe("vfs_read", function() reads { pid = pid(), comm = comm() } end)
local sum = 0
reads:each(function(e) sum = sum + e.pid end)
at_exit(function() io.stderr:write(("sum %d\n"):format(sum)) end)
