# SPDX-License-Identifier: MIT
# Errors of a chunk's declarations come in one round. In a callback they are raised at the call; what the kernel refuses
# there is reported, and nothing else ends.
script many.lua <<'LUA'
kprobe { "vfs_read", prre = function() end }
local c = count()
kprobe("no_such_function", function() c:add() end)
local p = kretprobe { "vfs_open", maxactive = -1, ret = function() end }
p:disable()
kprobe("vfs_write", function(p) c:add(p.nothing) end)
print(pcall(kprobe, { "vfs_read", prre = 1 }))
LUA
run kprobe-lua many.lua
status 1
out "^false	many.lua:7: kprobe has no option 'prre'"
err "^(kprobe-lua: )?many.lua:1: kprobe has no option 'prre'"
err "^many.lua:3: .*no_such_function"
err "^many.lua:4: kretprobe: 'maxactive' must be"
err "^many.lua:6: .*'nothing'"
lines 0 'stack traceback'

script late.lua <<'LUA'
local reads, late = count(), count()
kprobe("read_zero", function() reads:add() end)
local function big() return 1 end
local function memory(percent)
  local f = io.open("/sys/module/kprobe_lua/parameters/memory_percent", "w")
  f:write(percent) f:close()
end
local n, refused, good = 0
local steps = {
  function() print("name", pcall(kprobe, "no_such_function", function() end)) end,
  function() print("option", pcall(kprobe, { "vfs_read", prre = 1 })) end,
  function() print("compile", pcall(kprobe, "vfs_write", function(p) late:add(p.nothing) end)) end,
  function()
    memory "0"
    refused = kretprobe { "vfs_read", ret = function(p) late:add(big()) end }
    print("pending", refused.state)
  end,
  function()
    memory "25"
    print("refused", refused.state, refused:stats().returns.hits)
    good = kprobe("read_zero", function() late:add() end)
  end,
  function()
    os.execute "dd if=/dev/zero of=/dev/null bs=1 count=5 2>/dev/null"
    print("good", good.state, good:stats().hits, reads:value())
    exit()
  end,
}
every(0.02, function() n = n + 1 steps[n]() end)
LUA
run kprobe-lua late.lua
status 0
out "^name	false	late.lua:10: .*no_such_function"
out "^option	false	late.lua:11: kprobe has no option 'prre'"
out "^compile	false	late.lua:12: .*'nothing'"
line 'refused	failed	0'
line 'good	ftrace	5	5'
err '^none of the probes that were declared with it is armed$'

# the first probe of all, by a way that the module must have
run kprobe-lua -e 'every(0.02, function() if #probes() > 0 then exit() end local p = kprobe { "vfs_read", via = "ftrace", pre = function() end } print(p.state) end)'
status 0
line disabled
