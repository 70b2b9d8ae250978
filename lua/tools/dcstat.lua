-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Counts lookups of names: in the directory cache, past its fast way, and in vain.",
  needs = { "lookup_fast", "d_lookup" },
  options = { "interval", "process" },
  columns = { { "TIME", "%-8s" }, { "REFS/s", "%10d" }, { "SLOW/s", "%10d" }, { "MISS/s", "%10d" }, { "HIT%", "%8.2f" } },
  example = [[
# dcstat-kpl
TIME         REFS/s     SLOW/s     MISS/s     HIT%
06:58:01        177          3          3    98.31
06:58:02         97          3          3    96.91
06:58:03         69          2          2    96.67

Misses went to the file system. A program that looks for files that are not there has many:
dcsnoop shows their names.]],
}

local seen = count()
kprobe { "lookup_fast", when = options.when, pre = function() seen["refs"]:add() end }
kretprobe { "d_lookup", when = options.when, ret = function(p, dentry)
  seen["slow"]:add()
  if dentry == nil then seen["miss"]:add() end
end }
out:ticks(function(seconds)
  local n = { refs = 0, slow = 0, miss = 0 }
  for what, value in seen:take():pairs() do n[what] = tonumber(value) end
  local function rate(what) return math.floor(n[what] / seconds + 0.5) end
  return {
    refs_s = rate "refs", slow_s = rate "slow", miss_s = rate "miss",
    hit = n.refs > 0 and math.max(100 * (n.refs - n.miss) / n.refs, 0) or 100,
  }
end)
