-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "functions",
  description = "Shows calls of kernel functions that took long.",
  options = {
    { "PATTERN", "functions: a name, vfs_*, ext4:* or several of these", many = true },
    "process",
    { "-m --min-ms MILLISECONDS", "from so many milliseconds on (1)", kind = "whole" },
    { "-u --min-us MICROSECONDS", "from so many microseconds on", kind = "whole" },
    { "-a --arguments N", "show the first N arguments", kind = "positive" },
    { "-K --kernel-stack", "show the way to the call" },
  },
  columns = {
    { "TIME(s)", "%-10.6f" }, { "COMM", "%-14s" }, { "PID", "%-6d" }, { "LAT(us)", "%10.2f" }, { "RET", "%16s" }, { "FUNC", "%s" },
    { "ARGS", "%s", only = "arguments" },
  },
  example = [[
# funcslower-kpl 'hrtimer_nano*' -m 200 -a 2
TIME(s)    COMM           PID       LAT(us)              RET FUNC ARGS
1.257684   sleep          273     254331.71              0x0 hrtimer_nanosleep 0xee6b280 0x1

The few calls that a histogram of funclatency shows far to the right, each with its time, its
process and what it returned.]],
}

local least = (options.min_us or (options.min_ms or 1) * 1000) * 1000
local shown, stacks, slow = math.min(options.arguments or 0, 6), options.kernel_stack, event()
kretprobe { options.pattern, when = options.when, maxactive = 256,
  entry = function(p)
    p.data.t0 = now()
    if shown > 0 then
      p.data.a, p.data.b, p.data.c = p.arg[1], p.arg[2], p.arg[3]
      p.data.d, p.data.e, p.data.f = p.arg[4], p.arg[5], p.arg[6]
    end
  end,
  ret = function(p)
    local ns = now() - p.data.t0
    if ns < least then return end
    local e = { comm = comm(), pid = pid(), ns = ns, result = p.regs.ax, func = p.func }
    if shown > 0 then e.a, e.b, e.c, e.d, e.e, e.f = p.data.a, p.data.b, p.data.c, p.data.d, p.data.e, p.data.f end
    if stacks then e.stack = kstack() end
    slow(e)
  end,
}
slow:each(function(e)
  local args, list = {}, { e.a, e.b, e.c, e.d, e.e, e.f }
  for i = 1, shown do args[i] = ("0x%x"):format(list[i]) end
  e.lat_us, e.ret, e.args = tonumber(e.ns) / 1e3, ("0x%x"):format(e.result), table.concat(args, " ")
  out.row(e)
  if e.stack then out:stack(e.stack) end
end)
