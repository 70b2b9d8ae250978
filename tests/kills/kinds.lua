-- SPDX-License-Identifier: MIT
-- Probes of one kind, so many that arming and disarming take their time: kinds.lua KIND quiet|events.
-- With `events`, each hit is told to the script, which prints it.
local kind, tells = arg[1], arg[2] == "events"
local hits, stacks, times, seen = count(), count(), hist(), event()

local function hit(p)
  hits[p.func]:add()
  if tells then seen { at = p.func, who = comm(), t = now() } end
end
local function entry(p)
  hits[p.func]:add()
  p.data.t = now()
end
local function ret(p)
  times:add(now() - p.data.t)
  if tells then seen { at = p.func, who = comm(), t = p.data.t } end
end
local function tick()
  stacks[kstack(4)]:add()
  if tells then seen { at = 0, who = comm(), t = now() } end
end
local function write(p, before, after)
  times:add(after - before)
  if tells then seen { at = 0, who = comm(), t = after } end
end
local function change(p)
  hits[p.func]:add()
  if tells then seen { at = p.func, who = comm(), t = now() } end
  override(7)
end

local many = { "vfs_*", "security_file_*", "seq_*" }
local some = { "vfs_re*", "seq_re*", "do_sys_open*" }
local kinds = {
  ftrace = function() kprobe { many, via = "ftrace", pre = hit } end,
  kprobe = function() kprobe { some, via = "kprobe", pre = hit } end,
  kretprobe = function() kretprobe { some, via = "kretprobe", entry = entry, ret = ret } end,
  direct = function() kretprobe { many, via = "direct", entry = entry, ret = ret } end,
  tracepoint = function()
    tracepoint("sched:*", hit)
    tracepoint("kmem:*", hit)
    syscall { { "read", "openat", "close", "mmap" }, entry = entry, ret = ret }
  end,
  uprobe = function()
    uprobe("uprobed:add", hit)
    uprobe("uprobed:text", hit)
    uretprobe { { "uprobed:fact", "uprobed:nine", "uprobed:add" }, entry = entry, ret = ret }
    usdt("usdted:usdted:guarded", hit)
  end,
  watch = function()
    for _ = 1, 4 do watch { "jiffies_64", write } end
  end,
  timer = function()
    profile(997, tick)
    interval(0.001, tick)
    perf { "page-faults", tick }
  end,
  override = function() kprobe { "kpl_t_plain", pre = change } end,
}
function kinds.all()
  for _, name in ipairs { "ftrace", "direct", "uprobe", "watch", "timer" } do kinds[name]() end
end

seen:each(function(e) print(e.at, e.who, e.t) end)
kinds[kind]()
