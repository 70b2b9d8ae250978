-- SPDX-License-Identifier: MIT
-- A probe on all functions of a file, which has their addresses and names:
--   together.lua KIND FILE
-- KIND is ftrace, kprobe, kretprobe or direct.
local kind, file = arg[1], arg[2]

local functions = {}
for line in io.lines(file) do functions[#functions + 1] = "0x" .. line:match "^%x+" end

local calls, stacks, users, times, last = count(), count(), count(), hist(), map()
local function hit(p)
  local own = buf(task(), 16)
  calls[{ comm(), cpu(), uid() }]:add()
  stacks[kstack(4)]:add()
  users[ustack(4)]:add()
  times:add((now() - (last[tid()] or 0)) / (task().prio - 1000)) -- a signed division
  last[tid()] = now()
  if try(buf(p.sp, 16), own) == own or try(path(task().fs.pwd, 64), "") == str(task().comm) then last[ppid()] = nil end
end

local probe
if kind == "kretprobe" or kind == "direct" then
  probe = kretprobe { functions, via = kind, optional = true, ret = hit }
else
  probe = kprobe { functions, via = kind, optional = true, pre = hit }
end
at_exit(function()
  local s = probe:stats()
  print(("%d hits, %d missed"):format(s.hits, s.missed))
end)
