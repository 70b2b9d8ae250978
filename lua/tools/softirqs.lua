-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Sums the time that CPUs spend in softirqs, by kind.",
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

local kinds = { [0] = "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu" }
local began, times, draws = map { max = 8192 }, stats(), hist()
tracepoint("irq:softirq_entry", function() began[cpu()] = now() end)
tracepoint("irq:softirq_exit", function(p, kind)
  local at = began[cpu()]
  if not at then return end
  began[cpu()] = nil
  if options.dist then draws[kind]:add((now() - at) / 1000) else times[kind]:add(now() - at) end
end)
out:blocks(function()
  if options.dist then return out:histogram(draws, "usecs", "softirq", kinds) end
  out:table(out.sums(times, "softirq", kinds))
end)
