-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows which processes end, how old they were, and how they ended.",
  needs = { "do_exit" },
  options = {
    "process", "timestamp",
    { "-x --failed", "only those that did not end well" },
    { "--per-thread", "each thread, not only each process" },
  },
  columns = {
    { "PCOMM", "%-16s" }, { "PID", "%-7d" }, { "PPID", "%-7d" }, { "TID", "%-7d" }, { "AGE(s)", "%-7.2f" }, { "EXIT_CODE", "%s" },
  },
  example = [[
# exitsnoop-kpl
PCOMM            PID     PPID    TID     AGE(s)  EXIT_CODE
sh               164     163     164     0.05    code 3
sh               165     163     165     0.07    signal 9 (SIGKILL)
sleep            166     163     166     0.51    0
sh               163     161     163     0.72    0

A process that a signal has ended shows the signal's name: what the kernel's memory killer
or a crash did. A code is what the process gave to exit().]],
}

local exits = event()
kprobe { "do_exit", when = options.when, pre = function(p, code)
  local t = task()
  if t.pid ~= t.tgid and not options.per_thread then return end
  if code == 0 and options.failed then return end
  exits {
    pcomm = comm(), pid = pid(), ppid = ppid(), tid = tid(), age = now() - ffi.cast("int64_t", t.start_time), code = bit.rshift(code, 8),
    signal = bit.band(code, 0x7f), name = signal_name(bit.band(code, 0x7f)), core = bit.band(code, 0x80),
  }
end }
exits:each(function(e)
  e.age_s = tonumber(e.age) / 1e9
  if e.signal > 0 then
    e.exit_code = ("signal %d (%s)%s"):format(e.signal, e.name, e.core > 0 and ", core dumped" or "")
  else
    e.exit_code = e.code == 0 and "0" or "code " .. e.code
  end
  out.row(e)
end)
