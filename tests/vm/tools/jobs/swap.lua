-- SPDX-License-Identifier: MIT
-- 256 pages out to swap, and back one by one.
local ffi, C = require "ffi", require "libc"
local pages = 256
local at = ffi.cast("char *", C.mmap(nil, pages * 4096, 3, 0x22, -1, 0))
for i = 0, pages - 1 do at[i * 4096] = i % 100 + 1 end
assert(C.madvise(at, pages * 4096, 21) == 0, "MADV_PAGEOUT")
local sum = 0
for i = 0, pages - 1 do sum = sum + at[i * 4096] end
assert(sum == 11696, "what was written")
