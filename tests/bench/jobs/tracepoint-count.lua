-- SPDX-License-Identifier: MIT
local reads = count()
tracepoint("raw_syscalls:sys_enter", function() reads:add() end)
