# SPDX-License-Identifier: MIT
# An optimized kprobe that goes keeps its jump for a moment. One that comes to its place meanwhile, and goes without having
# been armed, takes that along: the text is as it was.
script reused.lua <<'LUA'
local places, last = {}, 0
for _, i in ipairs(instructions "vfs_read") do
  if i.optimize and i.offset > last + 20 then
    places[#places + 1] = "vfs_read+" .. i.offset
    last = i.offset
  end
end
assert(#places > 0, "no instruction of vfs_read becomes a jump")
local at, first, second
local function none() end
local function next_place()
  at = table.remove(places)
  if not at then return exit() end
  first = kprobe { at, via = "kprobe", pre = none }
  second = nil
end
next_place()
every(0.02, function()
  if second then
    second:detach()
    next_place()
  elseif first.state == "optimized" then
    first:detach()
    second = kprobe { at, via = "kprobe", post = none, enabled = false }
  end
end)
LUA
echo 1 > /sys/kernel/rcu_expedited # so that the next one comes in time
kprobe-lua disasm vfs_read > before
run kprobe-lua -q reused.lua
status 0
echo 0 > /sys/kernel/rcu_expedited
kprobe-lua disasm vfs_read > after
cmp before after || fail 'a jump or a breakpoint is left'
left_nothing
