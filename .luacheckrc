-- SPDX-License-Identifier: MIT
std = "luajit"
max_line_length = 140
ignore = { "581" } -- not (x > y) is no x <= y: NaN
-- Scripts see what lua/kprobe.lua gives, by that file's own words.
local names = { "kprobe", "ffi", "bit" }
local file = io.open "lua/kprobe.lua"
if file then -- luacheck runs in the top folder
  local text = file:read "*a"
  file:close()
  for name in text:gmatch "kprobe%.([%a_]+)" do names[#names + 1] = name end
  for name in text:match("local handler_builtins = (%b{})"):gmatch '"(%a+)"' do names[#names + 1] = name end
  for list in text:gmatch "ipairs (%b{})" do
    for name in list:gmatch '"(%a+)"' do names[#names + 1] = name end
  end
end
read_globals = names
-- A handler takes its parameters from the probed function's declaration, whether it needs them or not.
files["examples"] = { unused_args = false }
files["tests"] = { unused_args = false }
files["tests/data/scripts"] = { unused_args = false, max_line_length = false }
