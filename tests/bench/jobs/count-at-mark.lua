-- SPDX-License-Identifier: MIT
local reads = count()
usdt("bench_reads:bench_reads:read", function() reads:add() end)
