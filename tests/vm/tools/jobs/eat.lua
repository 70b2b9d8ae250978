-- SPDX-License-Identifier: MIT
-- usage: eat.lua MIB
-- Takes so much memory, and leaves its pages empty.
local ffi, C = require "ffi", require "libc"
local size = tonumber(arg[1]) * 2 ^ 20
local at = ffi.cast("char *", C.mmap(nil, size, 3, 0x22, -1, 0))
for i = 0, size - 1, 4096 do at[i] = 0 end
