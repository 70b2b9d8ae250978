-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows names that are looked up and not in the directory cache.",
  needs = { "lookup_fast", "d_lookup" },
  options = { "process", { "-a --all", "each lookup: R, as well as misses, M" } },
  columns = { { "TIME(s)", "%-11.6f" }, { "PID", "%-7d" }, { "COMM", "%-16s" }, { "T", "%1s" }, { "FILE", "%s" } },
  example = [[
# dcsnoop-kpl
TIME(s)     PID     COMM             T FILE
0.300036    260     cat              M other1
0.305951    260     cat              M none

M is a miss: the file system was asked. What is not there is remembered too, so the same name
twice is memory that was needed for something else.]],
}

local lookups = event()
kretprobe { "d_lookup", when = options.when, maxactive = 256,
  entry = function(p, parent, name) p.data.name = try(str(name.name, 128), "?") end,
  ret = function(p, dentry)
    if dentry == nil then lookups { pid = pid(), comm = comm(), t = "M", file = p.data.name } end
  end,
}
if options.all then
  kprobe { "lookup_fast", when = options.when, pre = function(p, nd)
    lookups { pid = pid(), comm = comm(), t = "R", file = try(str(nd.last.name, 128), "?") }
  end }
end
lookups:each(out.row)
