-- SPDX-License-Identifier: MIT
-- Fills 64 MiB.
local ffi, C = require "ffi", require "libc"
local at = ffi.cast("char *", C.mmap(nil, 2 ^ 26, 3, 0x22, -1, 0))
for i = 0, 2 ^ 26 - 1, 4096 do at[i] = 1 end
