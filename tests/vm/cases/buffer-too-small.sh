# SPDX-License-Identifier: MIT
# --buffer: what a record that can't fit is told, at compile time and without root.
script large.lua <<'LUA'
local seen = event()
kprobe("vfs_read", function(p, file, buf)
  seen {
    a = str(file.f_path.dentry.d_name.name, 1500), b = ustr(buf, 1500) }
end)
LUA
run kprobe-lua --check --buffer 4K large.lua
status 1
err '^large.lua:[34]: this record can take 30[0-9][0-9] bytes, more than half of a ring: --buffer 8K, or shorter strings$'
one_error
run kprobe-lua --check --buffer 8K large.lua
status 0
run kprobe-lua --buffer 1K large.lua
status 2
err '\-\-buffer takes 4K to 64M'
run kprobe-lua --wake-fill 51 large.lua
status 2
# What there is no memory for.
echo 'local e = event() kprobe("read_zero", function() e { a = 1 } end) local m = map { max = 1000000 }
kprobe("read_zero", function() m[comm()] = str(0, 3000) end)' > memory.lua
run kprobe-lua --buffer 64M -c true memory.lua
status 1
err '^memory.lua:1: map: all sessions of kprobe-lua together may hold [0-9]+ MB and hold [0-9]+ MB: end another one, or allow more \(echo PERCENT > /sys/module/kprobe_lua/parameters/memory_percent\): it has room for 1000000 entries; a smaller max= takes less memory$'
