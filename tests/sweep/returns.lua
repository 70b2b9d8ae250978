-- SPDX-License-Identifier: MIT
-- A return probe on each of the kernel's functions from the FROM-th to the TO-th, by address: returns.lua FROM TO [PATTERN [VIA]].
-- Without numbers: how many there are.
local from, to, pattern = tonumber(arg[1]), tonumber(arg[2]), arg[3] or ""

local functions, seen = {}, {}
for line in io.lines "/proc/kallsyms" do
  local at, name, module = line:match "^(%x+) [tTwW] (%S+)(.*)$"
  if name and module == "" and not seen[at] and name:find(pattern) and not name:find "^__[pc]fi?x?_" then
    seen[at] = true
    functions[#functions + 1] = { at = "0x" .. at, name = name }
  end
end
table.sort(functions, function(a, b) return a.at < b.at end)
if not from then
  print(#functions)
  return exit()
end
print(("%d to %d: %s to %s"):format(from, to, functions[from].name, functions[to].name))

local targets = {}
for i = from, to do targets[#targets + 1] = functions[i].at end
local returned = count()
local probe = kretprobe { targets, via = arg[4] or "kretprobe", optional = true, ret = function() returned:add() end }
at_exit(function()
  local s = probe:stats()
  print(("%d returns, %d calls, %d missed"):format(s.returns.hits, s.hits, s.missed))
end)
