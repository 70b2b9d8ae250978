# SPDX-License-Identifier: MIT
# A reader that goes away ends the run, quietly.
script many.lua <<'LUA'
kprobe("read_zero", function() printf("a line\n") end)
LUA
kprobe-lua -c 'dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null' many.lua 2> err | head -n 2 > out
lines 2 '^a line$'
left_nothing
