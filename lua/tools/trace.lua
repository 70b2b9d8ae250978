-- SPDX-License-Identifier: MIT
local options, out, fail = require "kprobe.tool" {
  subject = "functions",
  description = "Shows calls of a kernel function, and what expressions say of each.",
  options = {
    { "FUNCTION", "vfs_read, 'vfs_read(file, buf, count)' with names for its parameters, r:vfs_read for its return; "
      .. "c:read, a system call; u:libc:malloc, a program's function; "
      .. "U:python3:python:line, a mark of one" },
    { "EXPRESSION", "what to show, as a handler says it: count, 'ustr(filename)', ret", many = true, optional = true },
    "process",
    { "-F --filter EXPRESSION", "only calls for which this is true: 'count > 4096'" },
    { "-M --max-events N", "end after so many", kind = "positive" },
    { "-T --time", "begin each line with the time" },
    { "-K --kernel-stack", "show the way to the call" },
  },
  columns = {
    { "TIME", "%-8s", only = "time" }, { "PID", "%-7d" }, { "TID", "%-7d" }, { "COMM", "%-15s" }, { "FUNC", "%-16s" },
    { "-", "%s", key = "values" },
  },
  details = [[Expressions are Lua, as handlers take it: docs/language.md. The function's parameters have the names that are given to
them here; without any, p.args.NAME has them. ret is what the function returns.]],
  example = [[
# trace-kpl 'do_sys_openat2(dfd, filename)' 'ustr(filename)'
PID     TID     COMM            FUNC             -
282     282     sh              do_sys_openat2   /etc/ld.so.cache
282     282     sh              do_sys_openat2   /lib/x86_64-linux-gnu/libc.so.6
280     280     kprobe-lua      do_sys_openat2   /proc/modules
280     280     kprobe-lua      do_sys_openat2   /proc/kallsyms
282     282     sh              do_sys_openat2   /dev/null
283     283     cat             do_sys_openat2   /etc/hostname

Who opens what: filename is a pointer of the process's, which ustr reads.]],
}

local expression = require "kprobe.expression"
local target = expression.target(options["function"])
if not target then fail("'%s' is no function: vfs_read, 'vfs_read(file, buf)' or r:vfs_read", options["function"]) end
local body, given = {}, options.expression or {}
for _, text in ipairs(given) do
  if not expression.is_one(text) then fail("'%s' is no expression of Lua", text) end
end
if options.filter then
  if not expression.is_one(options.filter) then fail("'%s' is no expression of Lua", options.filter) end
  body[#body + 1] = ("if not (%s) then return end"):format(options.filter)
end
local fields = { "pid = pid()", "tid = tid()", "comm = comm()", "func = p.func" }
for i, text in ipairs(given) do fields[#fields + 1] = ("v%d = %s"):format(i, text) end
if options.kernel_stack then fields[#fields + 1] = "stack = kstack()" end
local calls = event()
body[#body + 1] = "calls { " .. table.concat(fields, ", ") .. " }"
local handler, why = expression.handler(target, table.concat(body, " "), { calls = calls })
if not handler then fail("%s", why) end
expression.probe(target, options.when, handler)

local shown = 0
calls:each(function(e)
  if shown == options.max_events then return end
  shown = shown + 1
  local values = {}
  for i = 1, #given do values[i] = tostring(e["v" .. i]):gsub("U?LL$", "") end
  e.values = values
  out.row(e)
  if e.stack then out:stack(e.stack) end
  if shown == options.max_events then exit() end
end)
