-- SPDX-License-Identifier: MIT
-- Opens /dev/null 1,000 times.
local C = require "libc"
for _ = 1, 1000 do C.close(C.open("/dev/null", 0)) end
