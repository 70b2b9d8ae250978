-- SPDX-License-Identifier: MIT
local reads = count()
tracepoint("raw_syscalls:sys_enter", function(p, regs, id) if id == 0 then reads:add() end end)
