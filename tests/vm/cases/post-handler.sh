# SPDX-License-Identifier: MIT
# A probe inside a function, and one with a post handler only: each has its own exact account.
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
