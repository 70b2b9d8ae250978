-- SPDX-License-Identifier: MIT
-- Makes 50 pipes, closes 20 of them, and waits.
local ffi, C = require "ffi", require "libc"
local ends = {}
for i = 1, 50 do
  ends[i] = ffi.new "int[2]"
  C.pipe(ends[i])
end
for i = 1, 20 do
  C.close(ends[i][0])
  C.close(ends[i][1])
end
io.open("made", "w"):close()
C.usleep(60000000)
