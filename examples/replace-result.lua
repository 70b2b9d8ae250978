#!/usr/bin/env kprobe-lua
-- What would happen if this function returned something else? It runs, and its callers get the value.
-- usage: kprobe-lua --unsafe replace-result.lua FUNCTION VALUE [COMM]
--
-- Out, at ^C: what it returned by itself, with counts:
--   @returned[-5]: 3
local name, value, command = arg[1], tonumber(arg[2]), arg[3]
if not value then error("usage: replace-result.lua FUNCTION VALUE [COMM]", 0) end
local returned = count()
kretprobe { name, when = command and { comm = command },
  ret = function(p)
    returned[p.ret]:add()
    p.ret = value
  end,
}
