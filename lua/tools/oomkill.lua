-- SPDX-License-Identifier: MIT
local _, out = require "kprobe.tool" {
  subject = "memory",
  description = "Shows whom the kernel kills when memory is short, and who asked for more.",
  needs = { "oom_kill_process" },
  columns = {
    { "TIME", "%-8s" }, { "TRIGGERED_BY", "%-12d", key = "by_pid" }, { "COMM", "%-16s", key = "by_comm" },
    { "KILLED", "%-7d", key = "pid" },
    { "COMM", "%-16s" }, { "PAGES", "%10d" }, { "LOADAVG", "%s" },
  },
  example = [[
# oomkill-kpl
TIME     TRIGGERED_BY COMM             KILLED  COMM                  PAGES LOADAVG
06:59:34 332          luajit           332     luajit                 4096 0.26 0.19 0.08 3/74 332

Who asked for the last page is not always who has taken the most: the kernel has chosen by
size. PAGES is what was to be had, of the machine or of the cgroup whose limit was met.]],
}

local kills = event()
kprobe("oom_kill_process", function(p, oc)
  kills { by_pid = pid(), by_comm = comm(), pid = oc.chosen.pid, comm = str(oc.chosen.comm), pages = ffi.cast("int64_t", oc.totalpages) }
end)
kills:each(function(e)
  local file = io.open "/proc/loadavg"
  e.loadavg = file and file:read "*l" or "?"
  if file then file:close() end
  out.row(e)
end)
