-- SPDX-License-Identifier: MIT
-- usage: luajit tests/lint/calls.lua
-- Each call of kmod/ioctls.def asks its check of kmod/core/args.h; one that is UNCHECKED has none. Says what is wrong and
-- fails, or prints one line.

local wrong, calls = 0, 0
local function complain(...)
  wrong = wrong + 1
  print(string.format(...))
end

local function text(path)
  local file = assert(io.open(path))
  local all = file:read "*a"
  file:close()
  return all
end

-- What stands between the braces of the functions that have the calls' arguments, by name.
local bodies = {}
for path in io.popen("ls kmod/*.c"):lines() do
  for name, body in text(path):gmatch "int (kpl_[%w_]+)%(struct kpl_session %*s, struct kpl_[%w_]+ %*arg%)\n{(.-)\n}" do
    bodies[name] = body
  end
end

local checks = text "kmod/core/args.h"
for name, flags in text("kmod/ioctls.def"):gmatch "\nIOCTL%([%u_]+,%s*([%l_]+),%s*([^)]*)%)" do
  local check, body = "kpl_check_" .. name, bodies["kpl_" .. name]
  calls = calls + 1
  if not body then
    complain("kpl_%s(): no file of kmod/ has it", name)
  elseif flags:find "UNCHECKED" then
    if checks:find(check .. "(", 1, true) then complain("%s(): but the call is UNCHECKED", check) end
  elseif not body:find(check .. "%(") and not body:find(check .. "_batch%(") then
    complain("kpl_%s(): does not call %s()", name, check)
  end
end
if calls < 20 then complain("only %d calls were seen", calls) end
if wrong > 0 then os.exit(1) end
print(calls .. " calls, each with its check")
