-- SPDX-License-Identifier: MIT
std = "luajit"
max_line_length = 140
ignore = { "581" } -- not (x > y) is no x <= y: NaN
-- Scripts see what lua/kprobe.lua and the tables of probes and aggregations give, by those files' own words.
local names = { "kprobe", "ffi", "bit" }
local function add(path, pattern)
  local file = io.open(path)
  if not file then return end -- luacheck runs in the top folder
  for list in file:read("*a"):gmatch(pattern) do
    for name in list:gmatch "[%a_]+" do names[#names + 1] = name end
  end
  file:close()
end
add("lua/kprobe.lua", "kprobe%.([%a_]+)")
add("runtime/ir/build/builtins.cpp", '\n%s+{"([%l_]+)", %d')
add("runtime/ir/probe_kinds.hpp", "%.name = \"(%l+)\"")
add("kmod/uapi/aggs.def", "\nAGG%([%u_]+,%s*([%l_]+)")
read_globals = names
-- A handler takes its parameters from the probed function's declaration, whether it needs them or not.
files["examples"] = { unused_args = false }
files["tests"] = { unused_args = false }
files["tests/data/scripts"] = { unused_args = false, max_line_length = false }
-- Constants of the kernel's enums have their names in handlers.
files["lua/tools"] = { unused_args = false, read_globals = { "TCP_FIN_WAIT1", "TCP_LAST_ACK", "TCP_CLOSE", "HRTIMER_MODE_ABS", "SKB_DROP_REASON_NOT_SPECIFIED" } }
files["lua/kprobe"] = { unused_args = false }
