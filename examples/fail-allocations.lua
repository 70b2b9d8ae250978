#!/usr/bin/env kprobe-lua
-- Does a program survive that memory runs out? Each n-th allocation of an open file fails with ENOMEM, for this command alone.
-- usage: kprobe-lua --unsafe fail-allocations.lua COMM N
--
-- Out, at ^C: how many were asked for, and how many failed:
--   @asked: 12
--   @failed: 4
local command, nth = arg[1], tonumber(arg[2])
if not nth then error("usage: fail-allocations.lua COMM N", 0) end
local ENOMEM = -12
local asked, failed, seen = count(), count(), map()
kprobe { "alloc_empty_file", when = { comm = command },
  pre = function()
    asked:add()
    seen:add(1, 1)
    if (seen[1] or 0) % nth == 0 then
      failed:add()
      override(ENOMEM)
    end
  end,
}
