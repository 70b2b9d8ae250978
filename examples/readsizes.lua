#!/usr/bin/env kprobe-lua
-- How much do programs get of what they ask for? A system call, from its entry to its return.
--
-- Out, at ^C: for each command how many percent of the buffer its reads filled:
--   @filled[dd]:
--   [100, 110)            200 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
local filled = lhist(0, 110, 10)
syscall { "read",
  entry = function(p, fd, buf, count)
    if count == 0 then return false end
    p.data.wanted = ffi.cast("int64_t", count)
  end,
  ret = function(p, got) if got >= 0 then filled[comm()]:add(got * 100 / p.data.wanted) end end,
}
