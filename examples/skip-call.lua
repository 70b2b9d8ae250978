#!/usr/bin/env kprobe-lua
-- What if a function did not make its first call? The call is skipped, as if it had returned VALUE.
-- usage: kprobe-lua --unsafe skip-call.lua FUNCTION VALUE
--
-- Out, at ^C: how often it was skipped:
--   @skipped: 3
local name, value = arg[1], tonumber(arg[2])
if not value then error("usage: skip-call.lua FUNCTION VALUE", 0) end
local skipped = count()
local list = instructions(name)
for i = 2, #list - 1 do -- the first is ftrace's
  local call, behind = list[i].offset, list[i + 1].offset
  if list[i].text:find "^call" and list[i].probe then
    kprobe(("%s+0x%x"):format(name, call), function(p)
      skipped:add()
      p.regs.ax = value
      p.ip = kaddr(name) + behind
    end)
    return
  end
end
error(name .. " makes no call that a probe may stand at", 0)
