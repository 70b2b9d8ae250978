-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "functions",
  description = "Counts system calls, by call or by process.",
  needs = { regs = { "struct pt_regs.orig_ax", "struct pt_regs.syscallno" } },
  options = {
    "process", "interval", "top",
    { "-P --by-process", "by process, not by call" },
    { "-L --latency", "sum how long they take, too" },
    { "-x --failures", "failed ones only" },
    { "-e --errno N", "only those that fail with this error's number", kind = "positive" },
  },
  columns = {
    { "PID", "%-7d", only = "by_process" }, { "COMM", "%-16s", only = "by_process" },
    { "SYSCALL", "%-22s", unless = "by_process" }, { "COUNT", "%8d" }, { "TIME(us)", "%16.3f", only = "latency" },
  },
  blocks = true,
  example = [[
# syscount-kpl --comm dd
SYSCALL                   COUNT
close                         4
openat                        5
read                        203
write                       204

What a program asks of the kernel. -x shows what it asks for in vain, -L where its time goes.]],
}

local latency, wanted, by_process = options.latency, -(options.errno or 0), options.by_process
local number = function(regs) return regs.orig_ax end
if options.needs.regs ~= "struct pt_regs.orig_ax" then number = function(regs) return regs.syscallno end end
local began, totals = map { max = 65536 }, stats()
if latency then
  tracepoint { "raw_syscalls:sys_enter", when = options.when, function() began[tid()] = now() end }
  tracepoint { "sched:sched_process_exit", function() began[tid()] = nil end } -- exit() does not return, or by another name
end
tracepoint { "raw_syscalls:sys_exit", when = options.when, function(p, regs, result)
  if options.failures and result >= 0 or options.errno and result ~= wanted then return end
  local ns = 0
  if latency then
    local at = began[tid()]
    if not at then return end
    ns = now() - at
    began[tid()] = nil
  end
  if by_process then totals[{ pid(), comm() }]:add(ns) else totals[syscall_name(number(regs))]:add(ns) end
end }
out:blocks(function()
  local records = {}
  for key, value in totals:take():pairs() do
    local record = { count = tonumber(value.count), time_us = tonumber(value.sum) / 1000 }
    if by_process then record.pid, record.comm = key[1], key[2] else record.syscall = key end
    records[#records + 1] = record
  end
  local by = latency and "time_us" or "count"
  table.sort(records, function(a, b) return a[by] < b[by] end)
  out:table(records)
end)
