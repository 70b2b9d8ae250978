-- SPDX-License-Identifier: MIT
-- A probe on each function of a file, as left.lua prints them, while the load works:
--   functions.lua KIND all|one FUNCTIONS ROUNDS REACHED
-- KIND is ftrace, kprobe, kretprobe, direct or tracepoint. `all`: together, until the load has been through all of its table;
-- `one`: each alone for a moment, as to switch one on takes a hundredth of what it takes to attach it. The handlers, those of
-- returns too, call most helpers. ROUNDS is the load's, REACHED has what each of its rounds comes by.
--
-- Each is armed, by the kernel's own lists where it has one, or has a reason: lines "no reason ADDRESS NAME" are for whoever can ask the
-- kernel. What the load comes by must be hit, alone, too: "wrong ADDRESS NAME" says what is not so.
local kind, how, file, rounds, reached_file = unpack(arg)
local column = ({ ftrace = 1, kprobe = 2, kretprobe = 3, direct = 4, tracepoint = 1 })[kind]

local reached = {}
for line in io.lines(reached_file) do
  for name in line:gmatch "%S+" do reached[name] = true end
end
local chosen, targets, is_chosen = {}, {}, {}
for line in io.lines(file) do
  local words = {}
  for word in line:gmatch "%S+" do words[#words + 1] = word end
  local one = { address = words[1], name = words[2], reason = words[2 + column], hits = 0 }
  one.must = one.reason == "-" and reached[(kind == "tracepoint" and "t:" or "") .. one.name]
  chosen[#chosen + 1], is_chosen[one.name] = one, true
  targets[#targets + 1] = kind == "tracepoint" and one.name or "0x" .. one.address
end

-- ---- the load
local function passes() -- of the worker who has made fewer
  local text = io.open(rounds):read "*a"
  local first, second = text:match "^%s*(%d+)%s+(%d+)"
  return first and math.min(tonumber(first), tonumber(second)) or error "the load has ended"
end
local began
local function whole_round() -- since the first call: what was under way then does not count
  began = began or passes() + 1
  return passes() > began
end

-- ---- the probes
local calls, stacks, times, last, got, at = count(), count(), hist(), map(), event(), map { max = 65536 }
-- What a place's first hits have shown, the next thousands would not: when a kprobe is armed, ftrace goes through 40,000 functions,
-- and calls some of its own for each.
local function is_enough(place)
  local hits = at[place] or 0
  at[place] = hits + 1
  return hits >= 1000
end
local function look(p, where, first, second)
  local own, since, names = buf(task(), 16), last[tid()] or 0, {}
  calls[comm()]:add()
  stacks[kstack(6)]:add()
  times:add((now() - since) / (task().prio - 1000)) -- a signed division
  last[tid()] = now()
  if cpu() == 0 then last[ppid()] = nil end
  for _ = 1, 2 do names[#names + 1] = str(task().comm) end
  got {
    pid = pid(), parent = ppid(), user = uid(), group = gid(), cpu = cpu(), cgroup = cgroup(), who = comm(), at = p.func,
    task = task(), stack = ustack(4), bytes = try(buf(where, 16), own), text = try(str(first, 16), ""),
    user_text = try(ustr(second, 16), ""), user_bytes = try(ubuf(second, 8), own), names = names,
    cwd = try(path(task().fs.pwd, 64), ""),
  }
end
local function hit(p) if not is_enough(p.addr) then look(p, p.sp, p.arg[1], p.arg[2]) end end
local function pass(p) if not is_enough(p.func) then look(p, task(), 0, 0) end end
local function entry(p) p.data.first = p.arg[1] p.data.second = p.arg[2] end
local function ret(p) if not is_enough(p.addr) then look(p, p.sp, p.data.first, p.data.second) end end
local received = 0
got:each_batch(function(batch) received = received + #batch end)

local function declare(places, enabled)
  if kind == "tracepoint" then return tracepoint { places, optional = true, enabled = enabled, handler = pass } end
  if kind == "kretprobe" or kind == "direct" then
    return kretprobe { places, via = kind, optional = true, enabled = enabled, entry = entry, ret = ret }
  end
  return kprobe { places, via = kind, optional = true, enabled = enabled, pre = hit }
end
local function account(probe)
  local s = probe:stats()
  if s.returns then s = s.returns end
  return s.hits, s.hits - s.handled - s.missed
end

-- ---- which are armed, by the kernel's lists: of kprobes, by address; of what ftrace calls, by name, in the order of addresses
local function lines_of(name) return assert(io.open(name)):lines() end
local function find_armed()
  if kind == "kprobe" or kind == "kretprobe" then
    local listed = {}
    for line in lines_of "/sys/kernel/debug/kprobes/list" do
      local address = line:match "^(%x+)"
      if not line:find "DISABLED" and not line:find "GONE" then listed[address] = true end
    end
    for _, one in ipairs(chosen) do
      local high, low = one.address:match "^(%x%x%x%x%x%x%x%x)(%x+)$"
      local behind_pad = ("%s%08x"):format(high, tonumber(low, 16) + 4)
      one.armed = listed[one.address] or not one.name:find "%+0x[1-9a-f]" and listed[behind_pad]
    end
    return
  end
  local listed = {}
  for line in lines_of "/sys/kernel/tracing/enabled_functions" do
    local name = line:match "^%S+"
    if name then listed[name] = (listed[name] or 0) + 1 end
  end
  for _, wanted in ipairs { true, false } do -- of namesakes, those without a reason
    for _, one in ipairs(chosen) do
      if (one.reason == "-") == wanted and (listed[one.name] or 0) > 0 then
        one.armed, listed[one.name] = true, listed[one.name] - 1
      end
    end
  end
end

-- ---- the two ways
local is_armed = { ftrace = true, direct = true, optimized = true, int3 = true, armed = true }
local together = how == "all" and kind ~= "tracepoint" and declare(targets)
if not together then
  for i, one in ipairs(chosen) do one.probe = declare({ targets[i] }, how == "all") end
end
if how == "all" then
  every(0.05, function()
    if not whole_round() then return end
    if together then find_armed() end
    for _, one in ipairs(chosen) do
      if one.probe then one.armed = is_armed[one.probe.state] end -- the kernel has no list of tracepoints
    end
    exit()
  end)
else
  local nr = 0
  -- All the time, so that ftrace's list changes and does not end each time; a function has one direct call alone.
  for _, name in ipairs { "__x64_sys_getpriority", "__x64_sys_personality" } do
    if kind ~= "tracepoint" and not is_chosen[name] then declare { name } break end
  end
  every(0.01, function()
    local one = chosen[nr]
    if one then
      one.armed = is_armed[one.probe.state]
      if one.must and one.armed and account(one.probe) == 0 and not whole_round() then return end
      one.probe:disable()
    end
    nr, began = nr + 1, nil
    if not chosen[nr] then exit() return end
    chosen[nr].probe:enable()
  end)
end

-- ---- the account
at_exit(function()
  local by_place, reasons = {}, {}
  local armed, left, hit_once, hits, stopped = 0, 0, 0, 0, 0
  for where, n in at:pairs() do by_place[where:match "^0x(%x+)$" or where:match "[^:]+$"] = n end
  local function add(probe)
    local h, s = account(probe)
    hits, stopped = hits + h, stopped + s
  end
  if together then add(together) end
  local function say(what, one) print("wrong", one.address, one.name, what) end
  for _, one in ipairs(chosen) do
    one.hits = by_place[kind == "tracepoint" and one.name or one.address] or 0
    if one.probe then add(one.probe) end
    if one.hits > 0 then hit_once = hit_once + 1 end
    if one.armed then
      armed = armed + 1
      if one.reason ~= "-" and not one.reason:find "%?$" then say("armed, although " .. one.reason, one) end
      if one.must and one.hits == 0 then say("the load comes by, and it was not hit", one) end
    else
      left = left + 1
      reasons[one.reason] = (reasons[one.reason] or 0) + 1
      if one.reason == "-" then print("no reason", one.address, one.name) end
      if one.hits > 0 then say("hit, and not armed", one) end
    end
  end
  for reason, n in pairs(reasons) do print(("left out: %d %s"):format(n, reason == "-" and "unreasoned" or reason)) end
  print(("%d chosen, %d armed, %d left out, %d hit, %d hits, %d stopped, %d events"):format(#chosen, armed, left, hit_once, hits,
    stopped, received))
end)
