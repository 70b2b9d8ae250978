-- SPDX-License-Identifier: MIT
local options, out = require "kprobe.tool" {
  subject = "processes",
  description = "Shows each program that is executed, with its arguments.",
  options = {
    "process", "timestamp",
    { "-x --fails", "failed ones, too" },
    { "-n --name TEXT", "only where the program's name has this in it" },
    { "-l --line TEXT", "only where an argument has this in it" },
  },
  columns = { { "PCOMM", "%-16s" }, { "PID", "%-7d" }, { "PPID", "%-7d" }, { "RET", "%3d" }, { "ARGS", "%s" } },
  example = [[
# execsnoop-kpl
PCOMM            PID     PPID    RET ARGS
sh               158     156       0 sh -c ls /tmp > /dev/null; env true
ls               159     158       0 ls /tmp
env              160     158       0 env true
exe              160     158       0 true

Short-lived processes that top does not catch: what a script or a service starts, by whom.
RET is 0, or the error's number below 0.]],
}

local execs, most = event(), 128
local text = "const char user *"

-- What was executed has its arguments on its stack, where the kernel has just put them: up to 20, as in bcc.
local function done()
  local at, stop, args = task().mm.arg_start, task().mm.arg_end, {}
  for i = 1, 20 do
    if at >= stop then break end
    local one = try(ustr(ffi.cast(text, at), most), "?")
    args[i] = one
    at = at + #one
    if #one < most then at = at + 1 end -- behind its end; a longer one goes on there
  end
  execs { pcomm = comm(), pid = pid(), ppid = ppid(), ret = 0, args = args }
end

-- What failed had them where the caller points to; memory that it has not touched yet can't be read.
local function failed(call, nth)
  syscall { call, when = options.when,
    entry = function(p)
      local argv, args = ffi.cast("const char user *const user *", p.arg[nth]), {}
      for i = 0, 19 do
        local one = try(argv[i], nil)
        if one == nil then break end
        args[i + 1] = try(ustr(one, most), "?")
      end
      p.data.args = args
    end,
    ret = function(p, result)
      if result < 0 then execs { pcomm = comm(), pid = pid(), ppid = ppid(), ret = result, args = p.data.args } end
    end,
  }
end

tracepoint { "sched:sched_process_exec", when = options.when, done }
if options.fails then
  failed("execve", 2)
  failed("execveat", 3)
end
execs:each(function(e)
  local line = ""
  for i, one in ipairs(e.args or {}) do
    local goes_on = i > 1 and e.ret == 0 and #e.args[i - 1] == most
    line = line .. ((i == 1 or goes_on) and "" or " ") .. one
  end
  if options.name and not e.pcomm:find(options.name, 1, true) or options.line and not line:find(options.line, 1, true) then return end
  out.row(e)
end)
