#!/usr/bin/env kprobe-lua
-- Which processors are busy, and how much of that in the kernel? A clock on each.
--
-- Out, at ^C: samples of each processor that the clock found there:
--   @samples[0, idle]: 93
--   @samples[0, kernel]: 4
--   @samples[1, process]: 97
local samples = count()
profile(97, function(p)
  if task().pid == 0 then
    samples[{ cpu(), "idle" }]:add()
  elseif ffi.cast("int64_t", p.ip) < 0 then -- the kernel's addresses are the upper half
    samples[{ cpu(), "kernel" }]:add()
  else
    samples[{ cpu(), "process" }]:add()
  end
end)
