-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Shows who waits long for a mutex of the kernel, and where.",
  needs = { "__mutex_lock_slowpath", "__mutex_lock_interruptible_slowpath", "__mutex_lock_killable_slowpath" },
  options = {
    "process",
    { "-s --stack", "show the whole way" },
    { "MIN_US", "from so many microseconds on; 0 is each", kind = "whole", optional = true, default = 1000 },
  },
  columns = {
    { "TIME(s)", "%-11.6f" }, { "COMM", "%-16s" }, { "TID", "%-7d" }, { "LAT(us)", "%10.1f" }, { "LOCK", "%-20s" }, { "CALLER", "%s" },
  },
  example = [[
# mutexslower-kpl 100000
TIME(s)     COMM             TID        LAT(us) LOCK                 CALLER
0.951708    luajit           398       510450.7 0xff16ea6781214c60   file_tty_write.constprop.0+0xbb

The same LOCK again and again is one that many want: CALLER is who has asked for it. A lock
within an object shows as its address.]],
}

local least, waits = options.min_us * 1000, event()
kretprobe { { "__mutex_lock_slowpath", "__mutex_lock_interruptible_slowpath", "__mutex_lock_killable_slowpath" },
  when = options.when, maxactive = 256,
  entry = function(p) p.data.t0, p.data.lock = now(), p.arg[1] end,
  ret = function(p)
    local ns = now() - p.data.t0
    if ns >= least then waits { comm = comm(), tid = tid(), ns = ns, lock = sym(p.data.lock), stack = kstack(12) } end
  end,
}
waits:each(function(e)
  e.lat_us = tonumber(e.ns) / 1e3
  for _, frame in ipairs(e.stack) do
    if not e.caller and not frame:find "mutex_lock" then e.caller = frame end
  end
  if not options.stack then e.stack = nil end
  out.row(e)
  if e.stack then out:stack(e.stack) end
end)
