# SPDX-License-Identifier: MIT
# limit: 600
# Every function that ftrace can trace and that no blacklist names, and one by one off and on while it lasts.
cat > everything.lua <<'LUA'
local n = count()
local all = kprobe { "*", via = "ftrace", pre = function() n:add() end }
local one = kprobe { "vfs_read", via = "ftrace", pre = function() end }
print(all.state, one.state)
local step = 0
every(0.2, function()
  step = step + 1
  if step == 1 then one:disable() elseif step == 2 then one:enable() else exit() end
end)
at_exit(function() print("counted", n:value() > 1000, n:value() == all:stats().handled) end)
LUA
run kprobe-lua everything.lua
status 1
one_error
err "^everything.lua:2: '\*' stands for [0-9]+ places: more than 1000 probes: .*--max-probes=[0-9]+$"
run kprobe-lua -v --max-probes=65536 everything.lua
status 0
line 'disabled	disabled'
line 'counted	true	true'
err '^everything.lua:2: [34][0-9]{4} probed; left out: [0-9]+ blacklisted, [0-9]+ freed after boot, [0-9]+ not traceable by ftrace, .*[0-9]+ parts of functions$'
err '^armed in [0-9.]+ s: [34][0-9]{4} by ftrace$'
err '^[34][0-9]{4} probes gone in'
grep -E 'left out|armed in|gone in|hits' err
