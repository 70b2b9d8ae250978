-- SPDX-License-Identifier: MIT
local reads = count()
syscall("read", function() reads:add() end)
