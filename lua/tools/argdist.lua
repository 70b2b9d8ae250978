-- SPDX-License-Identifier: MIT
local options, out, fail = require "kprobe.tool" {
  subject = "functions",
  description = "Counts or draws what an expression says of a function's calls.",
  options = {
    { "FUNCTION", "vfs_read, 'vfs_read(file, buf, count)' with names for its parameters, r:vfs_read for its return; "
      .. "c:read, a system call; u:libc:malloc, a program's function; "
      .. "U:python3:python:line, a mark of one" },
    { "EXPRESSION", "what to count or draw, as a handler says it: count, 'comm()', ret", optional = true },
    "process", "interval", "top",
    { "-H --histogram", "draw how numbers spread, instead of counting values" },
    { "-F --filter EXPRESSION", "only calls for which this is true: 'count > 4096'" },
  },
  columns = { { "COUNT", "%-10d" }, { "EVENT", "%s" } },
  blocks = true,
  details = [[Expressions are Lua, as handlers take it: docs/language.md. The function's parameters have the names that are given to
them here; without any, p.args.NAME has them. ret is what the function returns.]],
  example = [[
# argdist-kpl 'vfs_read(file, buf, count)' count
COUNT      EVENT
1          count = 8
1          count = 832
2          count = 4096
2          count = 784
200        count = 512

How large the reads are that programs ask for; argdist -H r:vfs_read ret draws how much they get.]],
}

local expression = require "kprobe.expression"
local target = expression.target(options["function"])
if not target then fail("'%s' is no function: vfs_read, 'vfs_read(file, buf)' or r:vfs_read", options["function"]) end
local what = options.expression or "p.func"
for _, text in ipairs { what, options.filter or "true" } do
  if not expression.is_one(text) then fail("'%s' is no expression of Lua", text) end
end
local body = options.filter and ("if not (%s) then return end "):format(options.filter) or ""
local counts, spread = count { max = 16384 }, hist()
local add = options.histogram and ("spread:add(%s)"):format(what) or ("counts[%s]:add()"):format(what)
local names = options.histogram and { spread = spread } or { counts = counts }
local handler, why = expression.handler(target, body .. add, names)
if not handler then fail("%s", why) end
expression.probe(target, options.when, handler)
out:blocks(function()
  if options.histogram then return out:histogram(spread, what) end
  local records = {}
  for i, row in ipairs(out.ascending(counts)) do
    local key = type(row.key) == "table" and table.concat(row.key, ", ") or tostring(row.key):gsub("U?LL$", "")
    records[i] = { count = row.value, event = what .. " = " .. key }
  end
  out:table(records)
end)
