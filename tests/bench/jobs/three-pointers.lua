-- SPDX-License-Identifier: MIT
-- Three reads of kernel memory that may fault, and a count.
local reads = count()
kprobe("vfs_read", function(p, file)
  if file.f_inode.i_sb.s_dev ~= 0 then reads:add() end
end)
