#!/usr/bin/env kprobe-lua
-- Who starts processes and threads? A tracepoint, with the kernel's own objects.
--
-- Out: a line for each, as it comes:
--   sh(412) -> 413
--   cargo(500) -> 501 (thread)
tracepoint("sched:sched_process_fork", function(p, parent, child)
  if child.pid == child.tgid then
    printf("%s(%d) -> %d\n", str(parent.comm), parent.tgid, child.pid)
  else
    printf("%s(%d) -> %d (thread)\n", str(parent.comm), parent.tgid, child.pid)
  end
end)
