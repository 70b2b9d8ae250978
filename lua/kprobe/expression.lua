-- SPDX-License-Identifier: MIT
-- Handlers from what is typed on a command line: "vfs_read(file, buf, count)" names a function and, as a handler does, its
-- parameters; "r:vfs_read" is its return, whose value is `ret`. "c:read" is a system call, "u:libc:malloc" a function of a
-- program, "U:python3:python:line" a mark of one. Expressions are those of handlers.
local expression = {}

-- { name =, kind =, at_return =, parameters = "p, file, buf" }, or nothing. `kind`: "c", "u", "U" or none.
function expression.target(text)
  local at_return, name, parameters = text:match "^(r?:?)([%w_.:*?%[%]/+-]+)%s*(%b())$"
  if not name then
    at_return, name = text:match "^(r?:?)([%w_.:*?%[%]/+-]+)$"
    parameters = "()"
  end
  if not name or at_return == ":" then return end
  if at_return == "r" then at_return, name = "", "r" .. name end
  local returns = at_return == "r:"
  local kind = name:match "^([cuU]):."
  if kind == "U" and returns then return end
  if kind then name = name:sub(3) end
  parameters = returns and "p, ret" or ("p, " .. parameters:sub(2, -2)):gsub(",%s*$", "")
  return { name = name, kind = kind, at_return = returns, parameters = parameters }
end

-- A handler of `body`, Lua text, with `names` as its upvalues; nil and why not.
function expression.handler(target, body, names)
  local list = {}
  for name in pairs(names) do list[#list + 1] = name end
  table.sort(list)
  local source = ("local %s = ...\nreturn function(%s) %s end"):format(table.concat(list, ", "), target.parameters, body)
  local chunk, why = loadstring(source, "=expression")
  if not chunk then return nil, (why:gsub("^expression:%d+: ", "")) end
  local values = {}
  for i, name in ipairs(list) do values[i] = names[name] end
  return chunk(unpack(values, 1, #list))
end

-- Whether `text` is an expression of Lua.
function expression.is_one(text) return loadstring("return " .. text) ~= nil end

function expression.probe(target, when, handler)
  if target.kind == "c" then
    syscall { target.name, when = when, [target.at_return and "ret" or "entry"] = handler }
  elseif target.kind == "u" and target.at_return then
    uretprobe { target.name, when = when, ret = handler }
  elseif target.kind == "u" then
    uprobe { target.name, when = when, handler }
  elseif target.kind == "U" then
    usdt { target.name, when = when, handler }
  elseif target.at_return then
    kretprobe { target.name, when = when, maxactive = 256, ret = handler }
  else
    kprobe { target.name, when = when, pre = handler }
  end
end

return expression
