-- SPDX-License-Identifier: MIT
-- For `-r armed`: says on stdout when the script's probes are armed, by date(1)'s clock, and ends the script.
local ffi = require "ffi"
ffi.cdef "struct bench_time { long s, n; }; int clock_gettime(int, struct bench_time *);"
every(1e-9, function()
  local t = ffi.new "struct bench_time[1]"
  ffi.C.clock_gettime(0, t)
  io.write(("armed %d.%09d\n"):format(tonumber(t[0].s), tonumber(t[0].n)))
  exit()
end)
