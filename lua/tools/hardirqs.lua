-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Sums the time that CPUs spend in the handlers of devices' interrupts, by handler.",
  options = { "interval", { "-d --dist", "draw how long each took" }, { "-C --count", "count them only" } },
  columns = { { "HARDIRQ", "%-26s" }, { "COUNT", "%8d" }, { "TOTAL_usecs", "%11d" } },
  blocks = true,
  example = [[
# hardirqs-kpl
HARDIRQ                       COUNT TOTAL_usecs
ttyS0                            84         905
virtio0-input.0                 310        1204

A device that interrupts all the time keeps the CPU from work. The timer's interrupts are not a
device's, and not among these.]],
}

local began, times, draws = map { max = 8192 }, stats(), hist()
tracepoint("irq:irq_handler_entry", function() began[cpu()] = now() end)
tracepoint("irq:irq_handler_exit", function(p, irq, action)
  local at = began[cpu()]
  if not at then return end
  began[cpu()] = nil
  local name = str(action.name, 26)
  if options.dist then draws[name]:add((now() - at) / 1000) else times[name]:add(now() - at) end
end)
out:blocks(function()
  if options.dist then return out:histogram(draws, "usecs", "hardirq") end
  out:table(out.sums(times, "hardirq"))
end)
