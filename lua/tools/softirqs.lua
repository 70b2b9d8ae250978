-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Sums the time that CPUs spend in softirqs, by kind.",
  needs = {
    timer = "run_timer_softirq", net_rx = "net_rx_action", net_tx = "net_tx_action", block = "blk_done_softirq", tasklet = "tasklet_action",
    hi = "tasklet_hi_action", sched = { "sched_balance_softirq", "run_rebalance_domains" }, rcu = "rcu_core_si",
    hrtimer = "hrtimer_run_softirq",
  },
  options = { "interval", { "-d --dist", "draw how long each took" } },
  columns = { { "SOFTIRQ", "%-16s" }, { "COUNT", "%8d" }, { "TOTAL_usecs", "%11d" } },
  blocks = true,
  example = [[
# softirqs-kpl
SOFTIRQ             COUNT TOTAL_usecs
timer                  26        1206
sched                  46        1752
rcu                    61        2387

Work that interrupts leave for later: net_rx is packets that come in. A CPU that is busy with it
has no time for processes, which top shows as si.]],
}

local times, draws = stats(), hist()
for kind, name in pairs(options.needs) do
  kretprobe { name,
    entry = function(p) p.data.t0 = now() end,
    ret = function(p)
      if options.dist then draws[kind]:add((now() - p.data.t0) / 1000) else times[kind]:add(now() - p.data.t0) end
    end,
  }
end
out:blocks(function()
  if options.dist then return out:histogram(draws, "usecs", "softirq") end
  local records = {}
  for kind, value in times:take():pairs() do
    records[#records + 1] = { softirq = kind, count = value.count, total_usecs = math.floor(tonumber(value.sum) / 1000) }
  end
  table.sort(records, function(a, b) return a.total_usecs < b.total_usecs end)
  out:table(records)
end)
