-- SPDX-License-Identifier: MIT
-- A string of the kernel's as the key, up to 255 bytes of it.
local reads = count()
kprobe("vfs_read", function(p, file) reads[str(file.f_path.dentry.d_name.name)]:add() end)
