-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows each program that is executed, with its arguments.",
  needs = { "__x64_sys_execve", "__x64_sys_execveat" },
  options = {
    "process", "timestamp",
    { "-x --fails", "failed ones, too" },
    { "-n --name TEXT", "only where the program's name has this in it" },
    { "-l --line TEXT", "only where an argument has this in it" },
  },
  columns = { { "PCOMM", "%-16s" }, { "PID", "%-7d" }, { "PPID", "%-7d" }, { "RET", "%3d" }, { "ARGS", "%s" } },
  example = [[@@

Short-lived processes that top does not catch: what a script or a service starts, by whom.
RET is 0, or the error's number below 0.]],
}

local execs = event()
-- The arguments are read before the call: afterwards, that memory is gone. Up to 20, as in bcc.
local function trace(call, argv_of)
  kretprobe { call, when = options.when,
    entry = function(p)
      local regs = ffi.cast("struct pt_regs *", p.arg[1])
      local argv, args = ffi.cast("const char user *const user *", argv_of(regs)), {}
      for i = 0, 19 do
        local one = try(argv[i], nil)
        if one == nil then break end
        args[i + 1] = try(ustr(one, 128), "?")
      end
      p.data.args = args
    end,
    ret = function(p, result)
      if result < 0 and not options.fails then return end
      execs { pcomm = comm(), pid = pid(), ppid = ppid(), ret = result, args = p.data.args }
    end,
  }
end
trace("__x64_sys_execve", function(regs) return regs.si end)
trace("__x64_sys_execveat", function(regs) return regs.dx end)
execs:each(function(e)
  local line = table.concat(e.args or {}, " ")
  if options.name and not e.pcomm:find(options.name, 1, true) or options.line and not line:find(options.line, 1, true) then return end
  out.row(e)
end)
