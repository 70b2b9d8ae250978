-- SPDX-License-Identifier: MIT
-- A return probe on every function of the kernel, so many at a time, while the machine works. No test: it takes hours in
-- an emulated machine. Each line names the functions about to be probed: what the last one names has brought the kernel down.
--   build/kprobe-lua --vm=6.12 --max-probes=65536 -q -c 'while :; do ls -R /sys/kernel; sleep 0.01; done > /dev/null' \
--     tests/sweep/returns.lua [PATTERN [FROM [TO [STEP]]]]    of those whose names match, the FROM-th to the TO-th
local pattern, from, to, step = arg[1] or "", tonumber(arg[2] or 1), tonumber(arg[3] or math.huge), tonumber(arg[4] or 500)

local functions, seen = {}, {}
for line in io.lines "/proc/kallsyms" do
  local at, name, module = line:match "^(%x+) [tTwW] (%S+)(.*)$"
  if name and module == "" and not seen[at] and name:find(pattern) and not name:find "%." and not name:find "^__[pc]fi?x?_" then
    seen[at] = true
    functions[#functions + 1] = { at = "0x" .. at, name = name }
  end
end
to = math.min(to, #functions)

local returned = count()
local first, probe = from, nil
print(("%d functions"):format(#functions))
every(0.3, function()
  if probe then
    local s = probe:stats()
    print(("  %d returns, %d calls, %d missed"):format(s.returns.hits, s.hits, s.missed))
    probe:detach()
    probe, first = nil, first + step
  end
  if first > to then return exit() end
  local last, targets = math.min(first + step - 1, to), {}
  for i = first, last do targets[#targets + 1] = functions[i].at end
  print(("%d to %d: %s to %s"):format(first, last, functions[first].name, functions[last].name))
  io.stdout:flush()
  os.execute "sleep 0.1" -- the line is out
  probe = kretprobe { targets, optional = true, ret = function() returned:add() end }
end)
