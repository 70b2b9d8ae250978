#!/usr/bin/env kprobe-lua
-- Traces open(2) and its relatives: who opens what, and what comes of it.
--
--   kprobe-lua opensnoop.lua              everything, until ^C
--   kprobe-lua -p PID opensnoop.lua       one process
--   kprobe-lua opensnoop.lua failed       failed opens only
--
-- Out, for `cat /etc/hostname /nonexistent`, among others:
--   PID    COMM               FD ERR PATH
--   812    cat                 3   0 /etc/hostname
--   812    cat                -1   2 /nonexistent
local failed_only = arg[1] == "failed"
local opens = event()

kretprobe { "do_sys_openat2",
  entry = function(p, dfd, filename) p.data.name = filename end,
  -- The path is read at the return: the kernel has touched its page by then.
  ret = function(p, fd)
    if fd < 0 or not failed_only then
      opens { pid = pid(), comm = comm(), ret = fd, path = ustr(p.data.name) }
    end
  end,
}

print(("%-6s %-16s %4s %3s %s"):format("PID", "COMM", "FD", "ERR", "PATH"))
opens:each(function(e)
  local fd, err = e.ret, 0
  if fd < 0 then fd, err = -1, -fd end
  print(("%-6d %-16s %4d %3d %s"):format(e.pid, e.comm, fd, err, e.path))
end)
