#!/usr/bin/env kprobe-lua
-- How long do reads take? A histogram of nanoseconds, with the start time kept for each call.
--
-- Out, at ^C: one line for each power of two between the fastest and the slowest read:
--   @nsecs:
--   [1K, 2K)               12 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|
local nsecs = hist()
kretprobe { "vfs_read",
  entry = function(p) p.data.t0 = now() end,
  ret = function(p) nsecs:add(now() - p.data.t0) end,
}
