-- SPDX-License-Identifier: MIT
-- A probe on each of the functions of a file, which has their addresses and names:
--   functions.lua KIND all|one FILE
-- KIND is ftrace, kprobe, kretprobe or direct; `all`: together, while the command of -c runs; `one`: each alone for a moment, as
-- to switch one on takes a hundredth of what it takes to attach it. The handlers, those of returns too, call most helpers.
local kind, how, file = arg[1], arg[2], arg[3]

local functions = {}
for line in io.lines(file) do functions[#functions + 1] = "0x" .. line:match "^%x+" end

local calls, stacks, times, last, got = count(), count(), hist(), map(), event()
local function look(p, first, second)
  local own, since, names = buf(task(), 16), last[tid()] or 0, {}
  calls[comm()]:add()
  stacks[kstack(6)]:add()
  times:add((now() - since) / (task().prio - 1000)) -- a signed division
  last[tid()] = now()
  if cpu() == 0 then last[ppid()] = nil end
  for _ = 1, 2 do names[#names + 1] = str(task().comm) end
  got {
    pid = pid(), parent = ppid(), user = uid(), group = gid(), cpu = cpu(), cgroup = cgroup(), who = comm(), at = p.func,
    task = task(), stack = ustack(4), bytes = try(buf(p.sp, 16), own), text = try(str(first, 16), ""),
    user_text = try(ustr(second, 16), ""), user_bytes = try(ubuf(second, 8), own), names = names,
    cwd = try(path(task().fs.pwd, 64), ""),
  }
end
local function hit(p) look(p, p.arg[1], p.arg[2]) end
local function entry(p) p.data.first = p.arg[1] p.data.second = p.arg[2] end
local function ret(p) look(p, p.data.first, p.data.second) end
local received = 0
got:each_batch(function(batch) received = received + #batch end)

local returns = kind == "kretprobe" or kind == "direct"
local function declare(targets, enabled)
  if returns then return kretprobe { targets, via = kind, optional = true, enabled = enabled, entry = entry, ret = ret } end
  return kprobe { targets, via = kind, optional = true, enabled = enabled, pre = hit }
end

local hits, stopped = 0, 0
local function account(probe)
  local s = probe:stats()
  hits = hits + s.hits
  stopped = stopped + s.hits - s.handled - s.missed
end

if how == "all" then
  local probe = declare(functions)
  at_exit(function()
    account(probe)
    print(("%d hits, %d stopped, %d events"):format(hits, stopped, received))
  end)
else
  local is_armed = { ftrace = true, direct = true, optimized = true, int3 = true }
  local probes, at, tried, armed = {}, 0, 0, 0
  for i, address in ipairs(functions) do probes[i] = declare({ address }, false) end
  declare "__x64_sys_getpriority" -- all the time: ftrace's list changes, and does not end each time
  every(0.01, function()
    if at > 0 then probes[at]:disable() end
    at = at + 1
    if at > #probes then exit() return end
    probes[at]:enable()
    tried = tried + 1
    if is_armed[probes[at].state] then armed = armed + 1 end
  end)
  at_exit(function()
    for _, probe in ipairs(probes) do account(probe) end
    print(("%d tried, %d armed, %d hits, %d stopped, %d events"):format(tried, armed, hits, stopped, received))
  end)
end
