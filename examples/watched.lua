#!/usr/bin/env kprobe-lua
-- Who writes a variable of the kernel, and what? A watchpoint.
--
--   kprobe-lua watched.lua                 panic_timeout, which is the sysctl kernel.panic
--   kprobe-lua watched.lua VARIABLE        another one of up to 8 bytes
--
-- Out: a line for each write, as it comes:
--   sh(412) proc_dointvec+0x1d: 0 -> 5
watch { arg[1] or "panic_timeout", on = "w", function(p, before, after)
  printf("%s(%d) %s: %d -> %d\n", comm(), pid(), sym(p.ip), before, after)
end }
