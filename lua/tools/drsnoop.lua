-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "memory",
  description = "Shows who must free memory before they get some, and how long that takes.",
  options = {
    "process",
    { "MIN_MS", "from so many milliseconds on; 0 is each", kind = "whole", optional = true, default = 0 },
  },
  columns = { { "COMM", "%-16s" }, { "PID", "%-7d" }, { "LAT(ms)", "%7.2f" }, { "PAGES", "%6d" }, { "ORDER", "%5d" }, { "LIMIT", "%s" } },
  example = [[
# drsnoop-kpl
COMM             PID     LAT(ms)  PAGES ORDER LIMIT
luajit           389        1.41     61     0 cgroup
luajit           389        0.92     42     0 cgroup
luajit           412       18.20    137     0 machine

Direct reclaim: who asks for 2^ORDER pages frees PAGES first, because the machine has none left or
the cgroup is at its limit. What waits here is the program itself; what kswapd frees costs nobody time.]],
}

local reclaims, began, orders = event(), map { max = 8192 }, map { max = 8192 }
for limit, kind in pairs { machine = "direct", cgroup = "memcg" } do
  local name, of_cgroup, least = "vmscan:mm_vmscan_" .. kind .. "_reclaim_", limit == "cgroup", options.min_ms * 1000000
  tracepoint { name .. "begin", when = options.when, function(p, order) began[tid()], orders[tid()] = now(), order end }
  tracepoint { name .. "end", when = options.when, function(p, pages)
    local at = began[tid()]
    if not at then return end
    local ns = now() - at
    if ns >= least then
      reclaims { comm = comm(), pid = pid(), ns = ns, pages = pages, order = orders[tid()], of_cgroup = of_cgroup }
    end
    began[tid()] = nil
    orders[tid()] = nil
  end }
end
reclaims:each(function(e)
  e.lat_ms, e.limit = tonumber(e.ns) / 1e6, e.of_cgroup and "cgroup" or "machine"
  out.row(e)
end)
