-- SPDX-License-Identifier: MIT
local reads = count()
syscall("read", function(p, fd, buf, count) if count == 1 then reads:add() end end)
