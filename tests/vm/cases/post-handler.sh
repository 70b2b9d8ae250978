# SPDX-License-Identifier: MIT
# A probe inside a function, and one with a post handler only: each has its own exact account. One that comes second to its
# place has it, too, or is refused: a kernel that is not preemptible would not call it.
script post.lua <<'LUA'
local pres, posts = count(), count()
kprobe("read_zero+0", function() pres:add() end)
local late = kprobe { "read_zero", post = function() posts:add() end }
at_exit(function() print("pre", pres, "post", posts, late:stats().post.hits) end)
LUA
run kprobe-lua -v -c 'dd if=/dev/zero of=/dev/null bs=8 count=100 2>/dev/null' post.lua
status 0
line 'pre	100	post	100	100'
err '^read_zero \([^ ]+:[0-9]+\) post: 100 hits = 100 handled'

script second.lua <<'LUA'
local function none() end
for _, i in ipairs(instructions "read_zero") do
  if i.boost then
    local at = "read_zero+" .. i.offset
    local first, second = kprobe { at, via = "kprobe", pre = none }, kprobe { at, via = "kprobe", post = none }
    at_exit(function() print(first:stats().hits, second:stats().post.hits) end)
    return
  end
end
LUA
run kprobe-lua -q -c 'dd if=/dev/zero of=/dev/null bs=8 count=100 2>/dev/null' second.lua
if kprobe-lua disasm read_zero | grep -q 'This kernel boosts none of them'; then
    status 0
    line '100	100'
else
    status 1
    err "can't probe read_zero\\+0x[0-9a-f]+: another probe was there first, without a post handler"
fi
left_nothing
