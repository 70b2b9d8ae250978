-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows who asks what a file is like, without opening it.",
  options = { "process", "timestamp", { "-x --failed", "only where there is no such file" } },
  columns = { { "PID", "%-7d" }, { "COMM", "%-16s" }, { "FD", "%3d" }, { "ERR", "%3d" }, { "PATH", "%s" } },
  example = [[
# statsnoop-kpl --comm ls
PID     COMM              FD ERR PATH
162     ls                 0   0 /etc/hostname
162     ls                -1   2 /nonexistent

A program that waits for a file to appear, or looks for one in many places, shows as a row of
errors 2 (ENOENT). FD is 0 where there is one, as in bcc.]],
}

local looks = event()
local function snoop(calls, nth)
  syscall { calls, when = options.when,
    entry = function(p) p.data.name = p.arg[nth] end,
    ret = function(p, result)
      if result >= 0 and options.failed then return end
      looks { pid = pid(), comm = comm(), ret = result, path = try(ustr(p.data.name), "?") }
    end,
  }
end
snoop({ "stat", "lstat", "statfs" }, 1)
snoop({ "newfstatat", "statx" }, 2)
looks:each(function(e)
  e.fd, e.err = e.ret < 0 and -1 or 0, e.ret < 0 and -e.ret or 0
  out.row(e)
end)
