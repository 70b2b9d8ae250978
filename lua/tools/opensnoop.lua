-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "files",
  description = "Shows who opens which file, and what comes of it.",
  needs = { "do_sys_openat2" },
  options = {
    "process", "timestamp",
    { "-x --failed", "failed opens only" },
    { "-U --print-uid", "show who the process runs as" },
  },
  columns = {
    { "UID", "%-6d", only = "print_uid" },
    { "PID", "%-6d" }, { "COMM", "%-16s" }, { "FD", "%4d" }, { "ERR", "%3d" }, { "PATH", "%s" },
  },
  example = [[
# opensnoop-kpl
PID    COMM               FD ERR PATH
154    sh                  3   0 /etc/ld.so.cache
154    sh                  3   0 /lib/x86_64-linux-gnu/libc.so.6
154    sh                  3   0 /dev/null
155    cat                 3   0 /etc/hostname
155    cat                -1   2 /nonexistent

The second file is not there: ERR is the error's number, ENOENT. A program that looks
for a library or its configuration in many places shows as a row of them.]],
}

local opens = event()
kretprobe { "do_sys_openat2", when = options.when,
  entry = function(p, dfd, filename) p.data.name = filename end,
  -- The path is read at the return: the kernel has touched its page by then.
  ret = function(p, fd)
    if fd >= 0 and options.failed then return end
    opens { uid = uid(), pid = pid(), comm = comm(), fd = fd, path = try(ustr(p.data.name), "?") }
  end,
}
opens:each(function(e)
  e.err = e.fd < 0 and -e.fd or 0
  e.fd = math.max(e.fd, -1)
  out.row(e)
end)
