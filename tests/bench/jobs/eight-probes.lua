-- SPDX-License-Identifier: MIT
-- Eight handlers at one function.
for i = 1, 8 do
  local reads = count()
  kprobe("vfs_read", function() reads:add() end)
end
