-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "scheduling",
  description = "Sums how long processes did not run, by the way on which they waited.",
  options = {
    "process", "interval", "top",
    { "-m --min-us MICROSECONDS", "from so long on", kind = "whole", default = 1 },
    { "-K --kernel-threads", "the kernel's own threads, too" },
    { "-U --user-stacks", "show the stacks of processes, too" },
  },
  blocks = true,
  example = [[
# offcputime-kpl --comm sleep -m 100000
  __schedule+0x4e8
  schedule+0x27
  do_nanosleep+0x7a
  hrtimer_nanosleep+0xa1
  common_nsleep+0x43
  __x64_sys_clock_nanosleep+0xde
  do_syscall_64+0x87
  entry_SYSCALL_64_after_hwframe+0x76
  0x4bfde3
    sleep
    409471

The numbers are microseconds. With kprobe-lua -f folded offcputime, lines for a flame graph. Who
waits for a disk or a lock has that on its stack; preempted ones have no wait there.]],
}

local kernel_thread, dead = 0x00200000, 0x80 -- PF_KTHREAD, TASK_DEAD
local user = options.user_stacks
local left, waits = map { max = 16384 }, sum { max = 16384 }
tracepoint("sched:sched_switch", function(p, preempt, previous, next)
  local before = left[next.pid]
  if before then
    left[next.pid] = nil
    local us = (now() - before.at) / 1000
    if us >= options.min_us then
      if user then waits[{ before.comm, before.user, before.kernel }]:add(us) else waits[{ before.comm, before.kernel }]:add(us) end
    end
  end
end)
tracepoint { "sched:sched_switch", when = options.when, function(p, preempt, previous)
  if previous.pid == 0 or previous.__state == dead then return end
  if not options.kernel_threads and bit.band(previous.flags, kernel_thread) ~= 0 then return end
  if user then
    left[previous.pid] = { at = now(), comm = comm(), user = ustack(24), kernel = kstack(24) }
  else
    left[previous.pid] = { at = now(), comm = comm(), kernel = kstack(24) }
  end
end }
out:blocks(function() out:stacks(waits, options.top) end)
