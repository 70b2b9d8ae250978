# SPDX-License-Identifier: MIT
# A fault handler behind a handler that only reads memory: what it looks at, its place and memory of its own among it, is
# this probe's, not what another session's handler has left.
script before.lua <<'LUA'
local names = map()
kprobe("vfs_write", function() names[comm()] = 1 end)
LUA
run kprobe-lua -c 'echo something > other' before.lua
status 0
script reads.lua <<'LUA'
local flags = sum()
kprobe { "vfs_read",
  pre = function(p) flags:add(ffi.cast("struct file *", 8).f_flags) end,
  fault = function(p, addr) printf("%s %s %d\n", comm(), sym(p.func), addr) end,
}
LUA
run kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=8 count=3 2> /dev/null' reads.lua
status 0
out '^dd vfs_read(\+0x0)? [0-9]+$'
err '^reads.lua:3: bad address 0x[0-9a-f]+ reading'
