-- SPDX-License-Identifier: MIT
-- Nobody reads the events: what is counted is what the handler does.
local reads = event()
kprobe("vfs_read", function(p, file) reads { pid = pid(), name = str(file.f_path.dentry.d_name.name) } end)
